// Recording: what a stream that is being captured hands its work to.
#ifndef TONDAR_ENGINE_ACCELERATORS_CPU_RECORDING_H_
#define TONDAR_ENGINE_ACCELERATORS_CPU_RECORDING_H_

#include "engine/accelerators/cpu/cpu_kernel.h"

namespace tondar::cpu {

class Recording {
 public:
  virtual void Append(BoundCall call, const char* label) = 0;
  virtual Status BeginBody(BodyKind kind, const std::byte* decision) = 0;
  virtual Status EndBody() = 0;
  // The capture has failed; the first failure is kept.
  virtual void Invalidate(const Status& status) = 0;
  // The stream is being destroyed; it must not be called any more.
  virtual void StreamGone() = 0;

 protected:
  ~Recording() = default;
};

}  // namespace tondar::cpu

#endif  // TONDAR_ENGINE_ACCELERATORS_CPU_RECORDING_H_
