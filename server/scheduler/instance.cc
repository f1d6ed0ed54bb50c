#include "server/scheduler/instance.h"

#include <algorithm>
#include <cstring>
#include <new>

namespace tondar {
namespace {

int64_t TotalRows(std::span<const WaitingRequest> requests) {
  int64_t rows = 0;
  for (const WaitingRequest& waiting : requests) rows += waiting.request->rows;
  return rows;
}

// Time has passed since the batch was formed: not for those who would not be glad of an answer any more.
Status StillWanted(const Request& request, TimePoint now) {
  if (request.deadline <= now) return DeadlineExceeded("the deadline passed while the request ran in a batch that failed");
  if (request.cancelled != nullptr && request.cancelled->load(std::memory_order_relaxed)) {
    return Cancelled("the client cancelled the request while it ran in a batch that failed");
  }
  return OkStatus();
}

// Whether requests that failed together may succeed alone.
bool WorthRetryingAlone(const Status& status) {
  return status.code() == StatusCode::kInvalidArgument || status.code() == StatusCode::kResourceExhausted;
}

}  // namespace

Instance::Instance(std::unique_ptr<Session> session, bool batched, std::string where, const Clock& clock,
                   VersionMetrics& metrics)
    : session_(std::move(session)),
      batched_(batched),
      where_(std::move(where)),
      clock_(clock),
      metrics_(metrics),
      shapes_(session_->signature().inputs.size()) {
  PublishCounters();
}

void Instance::Run(Batch& batch) {
  std::vector<WaitingRequest>& requests = batch.requests;
  batch.responses.clear();
  batch.responses.resize(requests.size());
  const Status together = RunTogether(requests, batch.responses);
  const bool alone = !together.ok() && requests.size() > 1 && WorthRetryingAlone(together);
  for (size_t i = 0; i < requests.size() && !together.ok(); ++i) {
    batch.responses[i] = Response();
    Status status = alone ? StillWanted(*requests[i].request, clock_.Now()) : together;
    if (status.ok()) status = RunTogether({&requests[i], 1}, {&batch.responses[i], 1});
    if (!status.ok()) {
      batch.responses[i].outputs.clear();
      batch.responses[i].status = status.Annotated(where_);
    }
  }
  PublishCounters();
}

Status Instance::RunTogether(std::span<WaitingRequest> requests, std::span<Response> responses) {
  const int64_t rows = TotalRows(requests);
  Timestamps times;
  times.compute_start = times.infer_start = times.infer_end = clock_.Now();
  const Status status = Compute(requests, rows, times, responses);
  times.compute_end = clock_.Now();
  for (WaitingRequest& waiting : requests) {
    Timestamps& own = waiting.request->times;
    own.compute_start = times.compute_start;
    own.infer_start = times.infer_start;
    own.infer_end = times.infer_end;
    own.compute_end = times.compute_end;
  }
  if (status.ok()) {
    metrics_.RecordExecution(static_cast<uint64_t>(rows), times.infer_start - times.compute_start,
                             times.infer_end - times.infer_start, times.compute_end - times.infer_end);
  }
  return status;
}

Status Instance::Compute(std::span<const WaitingRequest> requests, int64_t rows, Timestamps& times,
                         std::span<Response> responses) {
  try {
    TONDAR_ASSIGN_OR_RETURN(const Binding* io, BindFor(requests, rows));
    TONDAR_RETURN_IF_ERROR(Gather(requests, *io));
    times.infer_start = times.infer_end = clock_.Now();
    TONDAR_RETURN_IF_ERROR(session_->Run());
    times.infer_end = clock_.Now();
    return Scatter(requests, *io, rows, responses);
  } catch (const std::bad_alloc&) {  // answers may be large; the other requests and models go on
    return ResourceExhausted("no memory for a batch of {} rows; send smaller batches", rows);
  }
}

Result<const Binding*> Instance::BindFor(std::span<const WaitingRequest> requests, int64_t rows) {
  const Request& first = *requests.front().request;
  for (size_t i = 0; i < shapes_.size(); ++i) {
    shapes_[i] = first.inputs[i].shape;
    if (batched_) shapes_[i][0] = rows;
  }
  return session_->Bind(shapes_);
}

Status Instance::Gather(std::span<const WaitingRequest> requests, const Binding& io) {
  for (size_t i = 0; i < io.inputs.size(); ++i) {
    std::byte* to = io.inputs[i].data;
    size_t left = io.inputs[i].size_bytes();
    for (const WaitingRequest& waiting : requests) {
      const std::span<const std::byte> from = waiting.request->inputs[i].bytes;
      if (from.size() > left) break;
      if (!from.empty()) std::memcpy(to, from.data(), from.size());
      to += from.size();
      left -= from.size();
    }
    if (left != 0) {  // validation checks every request against the signature, so the sums must agree
      return Internal("input '{}': the requests of a batch do not fill its {} bytes", session_->signature().inputs[i].name,
                      io.inputs[i].size_bytes());
    }
  }
  return OkStatus();
}

Status Instance::Scatter(std::span<const WaitingRequest> requests, const Binding& io, int64_t rows,
                         std::span<Response> responses) {
  const std::vector<TensorSpec>& specs = session_->signature().outputs;
  for (size_t o = 0; o < io.outputs.size() && requests.size() > 1; ++o) {
    const Dims& shape = io.outputs[o].shape;
    if (shape.empty() || shape[0] != rows) {
      return Internal("output '{}': shape {} for a batch of {} rows; its first extent must be the batch", specs[o].name,
                      ToString(shape), rows);
    }
  }
  int64_t first_row = 0;
  for (size_t r = 0; r < requests.size(); ++r) {
    const Request& request = *requests[r].request;
    std::vector<OutputTensor>& outputs = responses[r].outputs;
    auto copy = [&](size_t position, const std::string& name) {
      outputs.push_back(CopyOut(io.outputs[position], name, first_row, requests.size() > 1 ? request.rows : rows, rows));
    };
    if (request.outputs.empty()) {
      outputs.reserve(specs.size());
      for (size_t o = 0; o < specs.size(); ++o) copy(o, specs[o].name);
    } else {
      outputs.reserve(request.outputs.size());
      for (const RequestedOutput& wanted : request.outputs) copy(static_cast<size_t>(wanted.position), wanted.name);
    }
    first_row += request.rows;
  }
  return OkStatus();
}

// Copies rows [first_row, first_row + rows) of an output that has all_rows.
OutputTensor Instance::CopyOut(const TensorView& output, std::string name, int64_t first_row, int64_t rows,
                               int64_t all_rows) {
  OutputTensor copy{std::move(name), output.dtype, output.shape, ByteBuffer()};
  if (rows == all_rows) {
    copy.bytes = ByteBuffer(output.size_bytes());
    if (copy.bytes.size() != 0) std::memcpy(copy.bytes.data(), output.data, copy.bytes.size());
    return copy;
  }
  const size_t row_bytes = output.size_bytes() / static_cast<size_t>(all_rows);
  copy.shape[0] = rows;
  copy.bytes = ByteBuffer(row_bytes * static_cast<size_t>(rows));
  if (copy.bytes.size() != 0) {
    std::memcpy(copy.bytes.data(), output.data + row_bytes * static_cast<size_t>(first_row), copy.bytes.size());
  }
  return copy;
}

void Instance::PublishCounters() {
  const SessionCounters counters = session_->counters();
  metrics_.eager_runs().Add(counters.eager_runs - published_.eager_runs);
  metrics_.replays().Add(counters.replays - published_.replays);
  metrics_.captures().Add(counters.captures - published_.captures);
  metrics_.plans_evicted().Add(counters.plans_evicted - published_.plans_evicted);
  // Memory changes only with the set of plans, which a replay leaves as it is.
  if (counters.eager_runs != published_.eager_runs || counters.captures != published_.captures) {
    const MemoryReport memory = session_->memory();
    const int64_t bytes = static_cast<int64_t>(memory.arena_bytes + memory.scratch_bytes);
    metrics_.AddMemory(bytes - published_memory_);
    published_memory_ = bytes;
  }
  published_ = counters;
}

}  // namespace tondar
