// The version of Tondar, as clients, logs and metrics see it.
#ifndef TONDAR_ENGINE_BASE_VERSION_H_
#define TONDAR_ENGINE_BASE_VERSION_H_

namespace tondar {

inline constexpr char kVersion[] = "0.1.0";

}  // namespace tondar

#endif  // TONDAR_ENGINE_BASE_VERSION_H_
