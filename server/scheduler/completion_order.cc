#include "server/scheduler/completion_order.h"

namespace tondar {

uint64_t CompletionOrder::Enter() {
  MutexLock lock(mu_);
  places_.emplace_back();
  return first_ + places_.size() - 1;
}

void CompletionOrder::Finish(uint64_t ticket, std::unique_ptr<Request> request, Response response) {
  Settle(ticket, std::move(request), std::move(response));
}

void CompletionOrder::Leave(uint64_t ticket) { Settle(ticket, nullptr, Response()); }

void CompletionOrder::Settle(uint64_t ticket, std::unique_ptr<Request> request, Response response) {
  mu_.Lock();
  Place& settled = places_[ticket - first_];
  settled.done = true;
  settled.request = std::move(request);
  settled.response = std::move(response);
  if (!answering_) {
    answering_ = true;
    while (!places_.empty() && places_.front().done) {
      Place place = std::move(places_.front());
      places_.pop_front();
      ++first_;
      if (place.request == nullptr) continue;
      mu_.Unlock();  // a completion is the listener's code
      Complete(std::move(place.request), std::move(place.response));
      mu_.Lock();
    }
    answering_ = false;
  }
  mu_.Unlock();
}

}  // namespace tondar
