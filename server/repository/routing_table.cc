#include "server/repository/routing_table.h"

#include <functional>
#include <thread>

namespace tondar {

RoutingTable::RoutingTable() { Publish({}); }

const RoutingTable::Shard& RoutingTable::MyShard() const {
  static thread_local const size_t mine = std::hash<std::thread::id>()(std::this_thread::get_id());
  return shards_[mine % kShards];
}

ModelHandle RoutingTable::Find(std::string_view name, std::string_view version) const {
  const Shard& shard = MyShard();
  MutexLock lock(shard.mu);
  const auto route = shard.routes->find(name);
  if (route == shard.routes->end()) return nullptr;
  if (version.empty()) return route->second.back();
  for (const ModelHandle& handle : route->second) {
    if (handle->version_text() == version) return handle;
  }
  return nullptr;
}

std::vector<ModelHandle> RoutingTable::FindAll(std::string_view name) const {
  const std::shared_ptr<const Routes> routes = Snapshot();
  const auto route = routes->find(name);
  return route == routes->end() ? std::vector<ModelHandle>() : route->second;
}

std::shared_ptr<const Routes> RoutingTable::Snapshot() const {
  const Shard& shard = MyShard();
  MutexLock lock(shard.mu);
  return shard.routes;
}

void RoutingTable::Publish(Routes routes) {
  const auto table = std::make_shared<const Routes>(std::move(routes));
  for (Shard& shard : shards_) {
    std::shared_ptr<const Routes> old = table;
    {
      MutexLock lock(shard.mu);
      shard.routes.swap(old);
    }
    // The last shard's old table goes here, without a lock.
  }
}

}  // namespace tondar
