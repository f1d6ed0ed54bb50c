// Instance: one executor of a model version on one device: gathers a batch, runs the Session, scatters the answers.
#ifndef TONDAR_SERVER_SCHEDULER_INSTANCE_H_
#define TONDAR_SERVER_SCHEDULER_INSTANCE_H_

#include <memory>
#include <span>
#include <string>
#include <vector>

#include "engine/api/session.h"
#include "engine/base/clock.h"
#include "server/metrics/version_metrics.h"
#include "server/scheduler/request_queue.h"

namespace tondar {

// Requests that run together, and their answers at the same positions.
struct Batch {
  std::vector<WaitingRequest> requests;
  std::vector<Response> responses;
};

// Runs one batch at a time; may move between threads from one batch to the next.
class Instance {
 public:
  // `batched`: the first extent of every tensor is the batch. `where`: how messages name the version, "model 'bert'
  // version 3". `clock` and `metrics` outlive the instance.
  Instance(std::unique_ptr<Session> session, bool batched, std::string where, const Clock& clock,
           VersionMetrics& metrics);

  // Fills `batch.responses` and the requests' compute times. Requests must be validated, not empty, and of one lane.
  // Inputs are copied once, into the session's memory; outputs once, into the answers. If the batch as a whole is
  // refused for what is in it (InvalidArgument: an index out of range, say) or does not fit (ResourceExhausted), each
  // request runs alone, so that one never fails its neighbours. Blocks until done.
  void Run(Batch& batch);

 private:
  Status RunTogether(std::span<WaitingRequest> requests, std::span<Response> responses);
  // Binds, gathers, runs and scatters. ResourceExhausted also where operator new throws.
  Status Compute(std::span<const WaitingRequest> requests, int64_t rows, Timestamps& times,
                 std::span<Response> responses);
  Result<const Binding*> BindFor(std::span<const WaitingRequest> requests, int64_t rows);
  Status Gather(std::span<const WaitingRequest> requests, const Binding& io);
  Status Scatter(std::span<const WaitingRequest> requests, const Binding& io, int64_t rows,
                 std::span<Response> responses);
  OutputTensor CopyOut(const TensorView& output, std::string name, int64_t first_row, int64_t rows, int64_t all_rows);
  void PublishCounters();

  const std::unique_ptr<Session> session_;
  const bool batched_;
  const std::string where_;
  const Clock& clock_;
  VersionMetrics& metrics_;
  std::vector<Dims> shapes_;  // of the batch; kept so that a batch allocates nothing
  SessionCounters published_;
  int64_t published_memory_ = 0;
};

}  // namespace tondar

#endif  // TONDAR_SERVER_SCHEDULER_INSTANCE_H_
