#include "engine/accelerators/cpu/copy_plan.h"

#include <bit>
#include <cstring>

namespace tondar::cpu {
namespace {

// Below this a transposed block is no better than a gather.
constexpr int64_t kMinTransposedRows = 2;
// One core moves about 8 bytes read and written per nanosecond out of L2.
constexpr double kNanosecondsPerByte = 0.12;

}  // namespace

CopyPlan CopyPlan::Make(const Nest& nest, const BoundAccess& from, const BoundOutput& to, const LoopTable& table) {
  CopyPlan plan;
  plan.table_ = &table;
  plan.size_log2_ = std::countr_zero(static_cast<uint64_t>(to.element_bytes));
  plan.from_ = from.base;
  plan.to_ = to.base;
  plan.parallel_ = static_cast<double>(Count(nest, 0, nest.size()) * to.element_bytes) * kNanosecondsPerByte > kParallelNanoseconds;
  size_t columns = nest.size();  // position of the output's innermost dim; none for a single element
  if (!nest.empty()) {
    columns = nest.size() - 1;
    plan.columns_ = nest[columns].extent;
    plan.from_column_ = from.strides[columns];
    plan.to_column_ = to.strides[columns];
  } else {
    plan.from_column_ = plan.to_column_ = to.element_bytes;
  }
  size_t rows = nest.size();
  const bool to_contiguous = plan.to_column_ == to.element_bytes;
  if (to_contiguous && plan.from_column_ == to.element_bytes) {
    plan.form_ = Form::kRows;
  } else {
    plan.form_ = Form::kGather;
    for (size_t d = 0; to_contiguous && d < columns; ++d) {
      if (from.strides[d] == to.element_bytes && nest[d].extent >= kMinTransposedRows) rows = d;
    }
    if (rows < nest.size()) {
      plan.form_ = Form::kTranspose;
      plan.rows_ = nest[rows].extent;
      plan.to_row_ = to.strides[rows];
    }
  }
  for (size_t d = 0; d < nest.size(); ++d) {
    if (d == columns || d == rows) continue;
    plan.from_strides_[plan.outer_.size()] = from.strides[d];
    plan.to_strides_[plan.outer_.size()] = to.strides[d];
    plan.outer_.push_back(nest[d]);
  }
  plan.outer_count_ = Count(plan.outer_, 0, plan.outer_.size());
  return plan;
}

// The innermost copy at an outer position, of the columns [begin, end).
void CopyPlan::RunAt(const int64_t* index, int64_t begin, int64_t end) const {
  const std::byte* from = from_ + Dot(from_strides_, index, outer_.size()) + begin * from_column_;
  std::byte* to = to_ + Dot(to_strides_, index, outer_.size()) + begin * to_column_;
  const int64_t n = end - begin;
  switch (form_) {
    case Form::kRows: std::memcpy(to, from, static_cast<size_t>(n) << size_log2_); break;
    case Form::kTranspose:
      table_->transpose[size_log2_](to, to_row_ >> size_log2_, from, from_column_ >> size_log2_, rows_, n);
      break;
    case Form::kGather: {
      if (to_column_ == (int64_t{1} << size_log2_)) {
        table_->gather[size_log2_](to, from, from_column_ >> size_log2_, n);
        break;
      }
      for (int64_t i = 0; i < n; ++i) std::memcpy(to + i * to_column_, from + i * from_column_, size_t{1} << size_log2_);
    }
  }
}

// Members share the outer positions; where there are too few of them, the columns.
void CopyPlan::RunMember(int member, int members) const {
  PerDim index{};
  if (outer_count_ < members) {
    const Range columns = RangeOf(columns_, member, members);
    for (int64_t i = 0; i < outer_count_; ++i) {
      if (columns.begin < columns.end) RunAt(index.data(), columns.begin, columns.end);
      Odometer::Next(outer_, 0, outer_.size(), index.data());
    }
    return;
  }
  const Range range = RangeOf(outer_count_, member, members);
  Odometer::Seek(outer_, 0, outer_.size(), range.begin, index.data());
  for (int64_t i = range.begin; i < range.end; ++i) {
    RunAt(index.data(), 0, columns_);
    Odometer::Next(outer_, 0, outer_.size(), index.data());
  }
}

void CopyPlan::Run(RunContext& context) const {
  SplitOverTeam(context, parallel_, [this](int member, int members) { RunMember(member, members); });
}

}  // namespace tondar::cpu
