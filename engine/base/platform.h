// The one place outside the backends where compilers and operating systems differ.
#ifndef TONDAR_ENGINE_BASE_PLATFORM_H_
#define TONDAR_ENGINE_BASE_PLATFORM_H_

#if defined(__clang__)
#define TONDAR_THREAD_ATTRIBUTE(x) __attribute__((x))
#else
#define TONDAR_THREAD_ATTRIBUTE(x)
#endif

#define TONDAR_CAPABILITY(x) TONDAR_THREAD_ATTRIBUTE(capability(x))
#define TONDAR_SCOPED_CAPABILITY TONDAR_THREAD_ATTRIBUTE(scoped_lockable)
#define TONDAR_GUARDED_BY(x) TONDAR_THREAD_ATTRIBUTE(guarded_by(x))
#define TONDAR_PT_GUARDED_BY(x) TONDAR_THREAD_ATTRIBUTE(pt_guarded_by(x))
#define TONDAR_REQUIRES(...) TONDAR_THREAD_ATTRIBUTE(requires_capability(__VA_ARGS__))
#define TONDAR_EXCLUDES(...) TONDAR_THREAD_ATTRIBUTE(locks_excluded(__VA_ARGS__))
#define TONDAR_ACQUIRE(...) TONDAR_THREAD_ATTRIBUTE(acquire_capability(__VA_ARGS__))
#define TONDAR_RELEASE(...) TONDAR_THREAD_ATTRIBUTE(release_capability(__VA_ARGS__))
#define TONDAR_TRY_ACQUIRE(...) TONDAR_THREAD_ATTRIBUTE(try_acquire_capability(__VA_ARGS__))

#include <cstddef>  // tells which C library this is

#if defined(__GLIBC__)
#include <malloc.h>
#endif

namespace tondar {

// Gives memory that was freed back to the system, where the C library keeps it otherwise. Takes milliseconds.
inline void ReturnFreeMemory() {
#if defined(__GLIBC__)
  malloc_trim(0);
#endif
}

// Bytes that were freed and that the C library keeps for later; 0 where it does not say. Takes microseconds.
inline size_t FreeMemoryHeld() {
#if defined(__GLIBC__)
  const struct mallinfo2 info = mallinfo2();
  return info.fordblks;
#else
  return 0;
#endif
}

// Tells the core that this thread spins.
inline void CpuPause() {
#if defined(__x86_64__)
  __builtin_ia32_pause();
#elif defined(__aarch64__)
  asm volatile("yield");
#endif
}

}  // namespace tondar

#endif  // TONDAR_ENGINE_BASE_PLATFORM_H_
