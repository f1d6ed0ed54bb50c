#include "engine/base/executor.h"

#include <pthread.h>
#include <sched.h>

#include <atomic>
#include <condition_variable>
#include <mutex>

namespace tondar {
namespace {

void NameThisThread(const std::string& name) {
  pthread_setname_np(pthread_self(), name.substr(0, 15).c_str());  // the kernel keeps 15 characters
}

}  // namespace

int CoreCount() {
  cpu_set_t allowed;
  CPU_ZERO(&allowed);
  if (sched_getaffinity(0, sizeof allowed, &allowed) != 0) return 1;
  const int count = CPU_COUNT(&allowed);
  return count < 1 ? 1 : count;
}

ThreadPool::ThreadPool(int threads, std::string name) {
  for (int i = 0; i < threads; ++i) {
    threads_.emplace_back([this, thread_name = name + "-" + std::to_string(i)] {
      NameThisThread(thread_name);
      Work();
    });
  }
}

ThreadPool::~ThreadPool() {
  {
    MutexLock lock(mu_);
    stopping_ = true;
  }
  wake_.NotifyAll();
  for (std::thread& thread : threads_) thread.join();
}

void ThreadPool::Post(std::function<void()> task) {
  {
    MutexLock lock(mu_);
    tasks_.push_back(std::move(task));
  }
  wake_.NotifyOne();
}

void ThreadPool::Work() {
  for (;;) {
    std::function<void()> task;
    {
      MutexLock lock(mu_);
      while (tasks_.empty() && !stopping_) wake_.Wait(mu_);
      if (tasks_.empty()) return;
      task = std::move(tasks_.front());
      tasks_.pop_front();
    }
    task();
  }
}

void ManualExecutor::Post(std::function<void()> task) { tasks_.push_back(std::move(task)); }

bool ManualExecutor::RunOne() {
  if (tasks_.empty()) return false;
  std::function<void()> task = std::move(tasks_.front());
  tasks_.pop_front();
  task();
  return true;
}

int ManualExecutor::RunAll() {
  int ran = 0;
  while (RunOne()) ++ran;
  return ran;
}

// How long a helper spins before it parks. A replayed step lasts 1 to 100 us; parking and waking costs about 50 us.
constexpr int kSpins = 20000;

struct ThreadTeam::State {
  std::atomic<uint64_t> generation{0};  // counts runs; a helper works once per step of it
  std::atomic<int> running{0};
  std::atomic<int> parked{0};
  std::atomic<bool> stopping{false};
  Body body = nullptr;
  void* context = nullptr;
  std::mutex mu;
  std::condition_variable wake;
};

ThreadTeam::ThreadTeam(int members) : members_(members < 1 ? 1 : members), state_(std::make_unique<State>()) {
  for (int member = 1; member < members_; ++member) {
    threads_.emplace_back([this, member] {
      NameThisThread("team-" + std::to_string(member));
      Help(member);
    });
  }
}

ThreadTeam::~ThreadTeam() {
  {
    std::lock_guard<std::mutex> lock(state_->mu);
    state_->stopping.store(true);
    state_->generation.fetch_add(1);
  }
  state_->wake.notify_all();
  for (std::thread& thread : threads_) thread.join();
}

void ThreadTeam::Run(Body body, void* context) {
  if (members_ == 1) {
    body(context, 0, 1);
    return;
  }
  State& state = *state_;
  state.body = body;
  state.context = context;
  state.running.store(members_ - 1, std::memory_order_relaxed);
  state.generation.fetch_add(1, std::memory_order_seq_cst);
  if (state.parked.load(std::memory_order_seq_cst) > 0) {
    std::lock_guard<std::mutex> lock(state.mu);
    state.wake.notify_all();
  }
  body(context, 0, members_);
  for (int spins = 0; state.running.load(std::memory_order_acquire) != 0; ++spins) {
    if (spins < kSpins) {
      CpuPause();
    } else {
      std::this_thread::yield();
    }
  }
}

void ThreadTeam::Help(int member) {
  State& state = *state_;
  uint64_t seen = 0;
  for (;;) {
    int spins = 0;
    while (state.generation.load(std::memory_order_acquire) == seen) {
      if (++spins < kSpins) {
        CpuPause();
        continue;
      }
      std::unique_lock<std::mutex> lock(state.mu);
      state.parked.fetch_add(1, std::memory_order_seq_cst);
      state.wake.wait(lock, [&] { return state.generation.load(std::memory_order_seq_cst) != seen; });
      state.parked.fetch_sub(1, std::memory_order_seq_cst);
    }
    ++seen;
    if (state.stopping.load()) return;
    state.body(state.context, member, members_);
    state.running.fetch_sub(1, std::memory_order_release);
  }
}

}  // namespace tondar
