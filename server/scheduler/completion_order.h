// CompletionOrder: answers in the order of arrival, for models that ask for it (preserve_ordering).
#ifndef TONDAR_SERVER_SCHEDULER_COMPLETION_ORDER_H_
#define TONDAR_SERVER_SCHEDULER_COMPLETION_ORDER_H_

#include <deque>
#include <memory>

#include "engine/base/mutex.h"
#include "server/request/request.h"

namespace tondar {

// Holds answers back until all earlier requests have been answered. Thread-safe.
class CompletionOrder {
 public:
  // Takes the next place. Tickets are in the order of these calls.
  uint64_t Enter() TONDAR_EXCLUDES(mu_);

  // Answers the request when its turn comes, on this thread or on the one that answers the request before it.
  void Finish(uint64_t ticket, std::unique_ptr<Request> request, Response response) TONDAR_EXCLUDES(mu_);

  // Gives the place up: the request was answered already, out of order. For refusals, which must not wait.
  void Leave(uint64_t ticket) TONDAR_EXCLUDES(mu_);

 private:
  struct Place {
    bool done = false;
    std::unique_ptr<Request> request;  // null if the place was given up
    Response response;
  };
  void Settle(uint64_t ticket, std::unique_ptr<Request> request, Response response) TONDAR_EXCLUDES(mu_);

  Mutex mu_;
  std::deque<Place> places_ TONDAR_GUARDED_BY(mu_);
  uint64_t first_ TONDAR_GUARDED_BY(mu_) = 0;        // ticket of places_.front()
  bool answering_ TONDAR_GUARDED_BY(mu_) = false;    // a thread is at it; the others leave their answers to it
};

}  // namespace tondar

#endif  // TONDAR_SERVER_SCHEDULER_COMPLETION_ORDER_H_
