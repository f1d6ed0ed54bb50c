#include "server/scheduler/instance_pool.h"

namespace tondar {

InstancePool::InstancePool(std::vector<std::unique_ptr<Instance>> instances, const MakeExecutor& make_executor) {
  for (auto& instance : instances) {
    slots_.push_back(std::make_unique<InstanceSlot>(std::move(instance)));
    slots_.back()->executor = make_executor(static_cast<int>(slots_.size()) - 1);
    idle_.push_back(slots_.back().get());
  }
}

InstanceSlot* InstancePool::Claim() {
  if (idle_.empty()) return nullptr;
  InstanceSlot* slot = idle_.back();
  idle_.pop_back();
  return slot;
}

}  // namespace tondar
