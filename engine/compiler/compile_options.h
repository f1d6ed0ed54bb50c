#ifndef TONDAR_ENGINE_COMPILER_COMPILE_OPTIONS_H_
#define TONDAR_ENGINE_COMPILER_COMPILE_OPTIONS_H_

namespace tondar {

// What the target device likes, without naming it.
struct CompileOptions {
  bool channels_last_convolutions = true;  // conv inputs and outputs lie as [N, spatial..., C]
};

}  // namespace tondar

#endif  // TONDAR_ENGINE_COMPILER_COMPILE_OPTIONS_H_
