// Mutex with Clang thread-safety annotations. `clang++ -Wthread-safety` turns a forgotten lock into an error.
#ifndef TONDAR_ENGINE_BASE_MUTEX_H_
#define TONDAR_ENGINE_BASE_MUTEX_H_

#include <chrono>
#include <condition_variable>
#include <mutex>

#include "engine/base/platform.h"

namespace tondar {

class CondVar;

class TONDAR_CAPABILITY("mutex") Mutex {
 public:
  Mutex() = default;
  Mutex(const Mutex&) = delete;
  Mutex& operator=(const Mutex&) = delete;

  void Lock() TONDAR_ACQUIRE() { mu_.lock(); }
  void Unlock() TONDAR_RELEASE() { mu_.unlock(); }
  bool TryLock() TONDAR_TRY_ACQUIRE(true) { return mu_.try_lock(); }

 private:
  friend class CondVar;
  std::mutex mu_;
};

// Holds a Mutex for a scope.
class TONDAR_SCOPED_CAPABILITY MutexLock {
 public:
  explicit MutexLock(Mutex& mu) TONDAR_ACQUIRE(mu) : mu_(mu) { mu_.Lock(); }
  ~MutexLock() TONDAR_RELEASE() { mu_.Unlock(); }
  MutexLock(const MutexLock&) = delete;
  MutexLock& operator=(const MutexLock&) = delete;

 private:
  Mutex& mu_;
};

// Condition variable over Mutex. Call every Wait in a loop that tests its condition.
class CondVar {
 public:
  void Wait(Mutex& mu) TONDAR_REQUIRES(mu) {
    std::unique_lock<std::mutex> lock(mu.mu_, std::adopt_lock);
    cv_.wait(lock);
    lock.release();
  }

  // Returns false when `timeout` passed first.
  template <typename Rep, typename Period>
  bool WaitFor(Mutex& mu, std::chrono::duration<Rep, Period> timeout) TONDAR_REQUIRES(mu) {
    std::unique_lock<std::mutex> lock(mu.mu_, std::adopt_lock);
    const bool signalled = cv_.wait_for(lock, timeout) == std::cv_status::no_timeout;
    lock.release();
    return signalled;
  }

  void NotifyOne() { cv_.notify_one(); }
  void NotifyAll() { cv_.notify_all(); }

 private:
  std::condition_variable cv_;
};

}  // namespace tondar

#endif  // TONDAR_ENGINE_BASE_MUTEX_H_
