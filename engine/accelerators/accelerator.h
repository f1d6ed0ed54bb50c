// Accelerator: all devices of one kind, and the registry of the kinds that this binary holds.
#ifndef TONDAR_ENGINE_ACCELERATORS_ACCELERATOR_H_
#define TONDAR_ENGINE_ACCELERATORS_ACCELERATOR_H_

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "engine/accelerators/device.h"

namespace tondar {

// What the user asked of a backend, by name; unknown names are refused by the backend that gets them.
struct AcceleratorOptions {
  std::string cpu_isa = "auto";
};

// Thread-safe.
class Accelerator {
 public:
  virtual ~Accelerator() = default;
  virtual std::string_view name() const = 0;  // "cpu"
  virtual int DeviceCount() const = 0;
  // The device, opened on first use; it lives as long as the accelerator. NotFound: no such index.
  virtual Result<Device*> OpenDevice(int index) = 0;
};

// Makes one accelerator. Unavailable: the machine has none (no driver, say), with the reason; the process goes on.
using AcceleratorFactory = Result<std::unique_ptr<Accelerator>> (*)(const AcceleratorOptions& options);

// Filled once by RegisterBackends (generated from the build's backend list), then immutable.
class AcceleratorRegistry {
 public:
  void Register(std::string_view name, AcceleratorFactory factory) { factories_.push_back({std::string(name), factory}); }

  struct Entry {
    std::string name;
    AcceleratorFactory factory;
  };
  const std::vector<Entry>& entries() const { return factories_; }
  const Entry* Find(std::string_view name) const;

 private:
  std::vector<Entry> factories_;
};

// Adds every backend of this build. Generated: engine/backends.cc.in.
void RegisterBackends(AcceleratorRegistry& registry);

}  // namespace tondar

#endif  // TONDAR_ENGINE_ACCELERATORS_ACCELERATOR_H_
