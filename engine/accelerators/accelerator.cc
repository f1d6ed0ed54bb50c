#include "engine/accelerators/accelerator.h"

namespace tondar {

const AcceleratorRegistry::Entry* AcceleratorRegistry::Find(std::string_view name) const {
  for (const Entry& entry : factories_) {
    if (entry.name == name) return &entry;
  }
  return nullptr;
}

}  // namespace tondar
