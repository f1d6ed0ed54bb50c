#include "engine/ops/testing/interpreter.h"

#include <algorithm>
#include <cmath>
#include <functional>
#include <limits>
#include <map>

#include "engine/linalg/step_solver.h"
#include "engine/ops/op_schema.h"
#include "engine/ops/testing/scalar.h"

namespace tondar {
namespace {

std::byte* Address(const TensorView& x, std::span<const int64_t> index) {
  int64_t offset = 0;
  for (size_t d = 0; d < index.size(); ++d) offset += index[d] * x.strides[d];
  return x.data + offset * static_cast<int64_t>(SizeOf(x.dtype));
}

// Calls `visit` with every point of `extents`, row-major, until it fails.
Status ForEach(const Dims& extents, const std::function<Status(std::span<const int64_t>)>& visit) {
  Dims point = Dims::Filled(extents.rank(), 0);
  if (ElementCount(extents) == 0) return OkStatus();
  while (true) {
    TONDAR_RETURN_IF_ERROR(visit(point.span()));
    size_t d = extents.size();
    while (d > 0 && ++point[d - 1] == extents[d - 1]) point[--d] = 0;
    if (d == 0) return OkStatus();
  }
}

Dims Concat(std::span<const int64_t> a, std::span<const int64_t> b) {
  Dims joined(a);
  for (int64_t value : b) joined.push_back(value);
  return joined;
}

// A program with the operands it reads.
class Evaluation {
 public:
  Evaluation(const LoopProgram& program, std::vector<TensorView> operands, std::span<const int64_t> symbols)
      : program_(program), operands_(std::move(operands)), symbols_(symbols) {}

  // The first result at `point`; `accumulator` is what kAccumulator reads.
  Result<Scalar> At(std::span<const int64_t> point, const Scalar& accumulator = {}) const {
    TONDAR_ASSIGN_OR_RETURN(const std::vector<Scalar> results, AllAt(point, accumulator));
    return results[0];
  }

  Result<std::vector<Scalar>> AllAt(std::span<const int64_t> point, const Scalar& accumulator = {}) const {
    std::vector<Scalar> values;
    for (const LoopInstruction& instruction : program_.body) {
      TONDAR_ASSIGN_OR_RETURN(Scalar value, Compute(instruction, values, point, accumulator));
      if (value.dtype != instruction.dtype) return Internal("{} gave {}, not {}", InfoOf(instruction.op).name, Name(value.dtype), Name(instruction.dtype));
      values.push_back(value);
    }
    std::vector<Scalar> results;
    for (int16_t result : program_.results) results.push_back(values[static_cast<size_t>(result)]);
    return results;
  }

 private:
  Result<Scalar> Compute(const LoopInstruction& i, const std::vector<Scalar>& values, std::span<const int64_t> point,
                         const Scalar& accumulator) const {
    auto operand = [&](int16_t position) -> const Scalar& { return values[static_cast<size_t>(position)]; };
    const size_t source = static_cast<size_t>(i.source);
    switch (i.op) {
      case LoopOp::kLoad: return Load(program_.accesses[source], i.dtype, values, point);
      case LoopOp::kConstant:
        return IsInteger(i.dtype) ? WholeScalar(i.integer, i.dtype) : ConvertScalar(RealScalar(i.immediate, DType::kFloat64), i.dtype);
      case LoopOp::kIndex: return WholeScalar(point[source], i.dtype);
      case LoopOp::kSize: return WholeScalar(program_.sizes[source].Evaluate(symbols_), i.dtype);
      case LoopOp::kAccumulator: return accumulator;
      case LoopOp::kCast: return ConvertScalar(operand(i.a), i.dtype);
      case LoopOp::kSelect: return operand(i.a).Truth() ? operand(i.b) : operand(i.c);
      default: return InfoOf(i.op).arity == 1 ? ApplyUnary(i.op, operand(i.a)) : ApplyBinary(i.op, operand(i.a), operand(i.b));
    }
  }

  Result<Scalar> Load(const Access& access, DType dtype, const std::vector<Scalar>& values,
                      std::span<const int64_t> point) const {
    const TensorView& x = operands_[static_cast<size_t>(access.operand)];
    if (x.dtype != dtype) return Internal("a load of {} from {}", Name(dtype), Name(x.dtype));
    Dims index;
    for (size_t d = 0; d < access.index.size(); ++d) {
      const IndexExpression& expression = access.index[d];
      int64_t position = expression.offset.Evaluate(symbols_);
      for (const auto& term : expression.terms) position += term.coefficient * point[static_cast<size_t>(term.loop_dim)];
      if (expression.dynamic >= 0) {
        int64_t dynamic = values[static_cast<size_t>(expression.dynamic)].whole;
        if (dynamic < -kBelowZero / 2) dynamic += kBelowZero;  // as it was before NotFromEnd
        else if (dynamic < 0) dynamic += x.shape[d];
        if (dynamic < 0 || dynamic >= x.shape[d]) {
          return InvalidArgument("index {} is out of range for an extent of {}", dynamic, x.shape[d]);
        }
        position += dynamic;
      }
      const bool outside = position < 0 || position >= x.shape[d];
      if (outside && expression.guarded) return ConvertScalar(RealScalar(access.fill, DType::kFloat64), dtype);
      if (outside) return Internal("position {} of an unguarded access to an extent of {}", position, x.shape[d]);
      index.push_back(position);
    }
    return ReadScalar(Address(x, index.span()), dtype);
  }

  const LoopProgram& program_;
  std::vector<TensorView> operands_;
  std::span<const int64_t> symbols_;
};

// --- Reductions -----------------------------------------------------------------------------------------------------

Scalar Neutral(ReduceOp op, DType dtype) {
  const bool real = IsFloat(dtype);
  auto limit = [&](bool low) {
    if (real) return RealScalar(low ? -INFINITY : INFINITY, dtype);
    if (dtype == DType::kUInt8) return WholeScalar(low ? 0 : 255, dtype);
    const int bits = static_cast<int>(8 * SizeOf(dtype));
    const int64_t highest = static_cast<int64_t>((uint64_t{1} << (bits - 1)) - 1);
    return WholeScalar(low ? -highest - 1 : highest, dtype);
  };
  switch (op) {
    case ReduceOp::kSum: return real ? RealScalar(0, dtype) : WholeScalar(0, dtype);
    case ReduceOp::kProduct: return real ? RealScalar(1, dtype) : WholeScalar(1, dtype);
    case ReduceOp::kLogAddExp:
    case ReduceOp::kMax: return limit(true);
    case ReduceOp::kMin: return limit(false);
    case ReduceOp::kAll: return WholeScalar(1, DType::kBool);
    default: return WholeScalar(0, DType::kBool);
  }
}

LoopOp OpOf(ReduceOp op) {
  switch (op) {
    case ReduceOp::kSum: return LoopOp::kAdd;
    case ReduceOp::kProduct: return LoopOp::kMul;
    case ReduceOp::kMax: return LoopOp::kMax;
    case ReduceOp::kMin: return LoopOp::kMin;
    case ReduceOp::kAll: return LoopOp::kLogicalAnd;
    default: return LoopOp::kLogicalOr;
  }
}

Scalar LogAddExp(const Scalar& a, const Scalar& b) {
  const double low = std::fmin(a.real, b.real), high = std::fmax(a.real, b.real);
  if (std::isnan(a.real) || std::isnan(b.real)) return RealScalar(NAN, a.dtype);
  return RealScalar(std::isinf(high) ? high : high + std::log1p(std::exp(low - high)), a.dtype);
}

// What a scatter leaves where `old` was.
Scalar Scattered(ScatterOp op, const Scalar& old, const Scalar& value) {
  const bool logic = old.dtype == DType::kBool;
  switch (op) {
    case ScatterOp::kStore: return value;
    case ScatterOp::kAdd: return ApplyBinary(logic ? LoopOp::kLogicalOr : LoopOp::kAdd, old, value);
    case ScatterOp::kMultiply: return ApplyBinary(logic ? LoopOp::kLogicalAnd : LoopOp::kMul, old, value);
    case ScatterOp::kMax: return ApplyBinary(logic ? LoopOp::kLogicalOr : LoopOp::kMax, old, value);
    default: return ApplyBinary(logic ? LoopOp::kLogicalAnd : LoopOp::kMin, old, value);
  }
}

// The order of a sort: NaN last, -0 and 0 equal.
bool ComesBefore(const Scalar& a, const Scalar& b) {
  if (!a.IsReal()) return ApplyBinary(LoopOp::kLt, a, b).Truth();
  return std::isnan(b.real) ? !std::isnan(a.real) : a.real < b.real;
}

// Folds values one by one; positions for argmax and argmin.
class Accumulator {
 public:
  // `last_wins`, for scans: the first value stands for itself; of equal extrema the later one's position counts, and a NaN beats an earlier NaN.
  Accumulator(ReduceOp op, DType dtype, bool last_wins = false) : op_(op), last_wins_(last_wins) {
    if (!IsPosition()) value_ = Neutral(op, dtype);
  }

  void Add(const Scalar& x) {
    if (!IsPosition() && count_ == 0 && last_wins_) {
      value_ = x;
    } else if (!IsPosition()) {
      value_ = op_ == ReduceOp::kLogAddExp ? LogAddExp(value_, x) : ApplyBinary(OpOf(op_), value_, x);
    } else if (count_ == 0 || Beats(x)) {
      value_ = x;
      best_ = count_;
    }
    ++count_;
  }

  Scalar Value() const { return IsPosition() ? WholeScalar(best_, DType::kInt64) : value_; }

 private:
  bool IsPosition() const { return op_ == ReduceOp::kArgMax || op_ == ReduceOp::kArgMin; }
  bool Beats(const Scalar& x) const {
    const bool new_nan = x.IsReal() && std::isnan(x.real);
    if (value_.IsReal() && std::isnan(value_.real)) return last_wins_ && new_nan;
    if (new_nan || (last_wins_ && ApplyBinary(LoopOp::kEq, x, value_).Truth())) return true;
    return ApplyBinary(op_ == ReduceOp::kArgMax ? LoopOp::kGt : LoopOp::kLt, x, value_).Truth();
  }

  ReduceOp op_;
  bool last_wins_;
  Scalar value_;
  int64_t count_ = 0, best_ = 0;
};

// --- The steps ------------------------------------------------------------------------------------------------------

DType AccumulatorDType(DType dtype) {
  if (dtype == DType::kFloat64) return dtype;
  return IsFloat(dtype) ? DType::kFloat32 : DType::kInt32;
}

// Runs one step: `inputs` to `output`, which has its shape and dtype.
class StepRunner {
 public:
  StepRunner(std::vector<TensorView> inputs, TensorView output, std::span<const int64_t> symbols)
      : inputs_(std::move(inputs)), output_(output), symbols_(symbols) {}

  Status operator()(const MapStep& step) const {
    const Evaluation program(step.program, inputs_, symbols_);
    return ForEach(Extents(step.extents), [&](auto point) -> Status {
      TONDAR_ASSIGN_OR_RETURN(const Scalar value, program.At(point));
      return Store(point, value);
    });
  }

  Status operator()(const ReduceStep& step) const {
    const Evaluation program(step.program, inputs_, symbols_);
    const Dims extents = Extents(step.extents);
    const size_t kept = extents.size() - static_cast<size_t>(step.reduced);
    const Dims outer(extents.span().first(kept)), inner(extents.span().subspan(kept));
    return ForEach(outer, [&](auto point) -> Status {
      Accumulator accumulator(step.op, step.accumulator);
      TONDAR_RETURN_IF_ERROR(ForEach(inner, [&](auto rest) -> Status {
        TONDAR_ASSIGN_OR_RETURN(const Scalar value, program.At(Concat(point, rest).span()));
        if (value.dtype != step.accumulator) return Internal("reduces {} as {}", Name(value.dtype), Name(step.accumulator));
        accumulator.Add(value);
        return OkStatus();
      }));
      return Finish(step.finish, point, accumulator.Value());
    });
  }

  Status operator()(const ScanStep& step) const {
    const Evaluation program(step.program, inputs_, symbols_);
    const Dims extents = Extents(step.extents);
    const Dims outer(extents.span().first(extents.size() - 1)), inner{extents[extents.size() - 1]};
    return ForEach(outer, [&](auto point) -> Status {
      Accumulator accumulator(step.op, step.accumulator, true);
      return ForEach(inner, [&](auto last) -> Status {
        const Dims at = Concat(point, last);
        TONDAR_ASSIGN_OR_RETURN(const Scalar value, program.At(at.span()));
        accumulator.Add(value);
        return Store(at.span(), ConvertScalar(accumulator.Value(), output_.dtype));
      });
    });
  }

  Status operator()(const MatMulStep& step) const {
    const TensorView &a = inputs_[0], &b = inputs_[1];
    const size_t rank = output_.shape.size();
    return ForEach(output_.shape, [&](auto point) -> Status {
      Dims at_a(point), at_b(point);
      double real = 0;
      int64_t whole = 0;
      for (int64_t k = 0; k < a.shape[rank - 1]; ++k) {
        at_a[rank - 1] = at_b[rank - 2] = k;
        const Scalar x = ReadScalar(Address(a, at_a.span()), a.dtype), y = ReadScalar(Address(b, at_b.span()), b.dtype);
        real += x.AsReal() * y.AsReal();
        whole += x.whole * y.whole;
      }
      const DType dtype = AccumulatorDType(a.dtype);
      return Finish(step.epilogue, point, IsFloat(dtype) ? RealScalar(real, dtype) : WholeScalar(whole, dtype));
    });
  }

  Status operator()(const ConvStep& step) const {
    return ForEach(output_.shape, [&](auto point) -> Status {
      const double sum = step.transposed ? TransposedSum(step, point) : ConvolvedSum(step, point);
      return Finish(step.epilogue, point, RealScalar(sum, AccumulatorDType(inputs_[0].dtype)));
    });
  }

  Status operator()(const AttentionStep& step) const {
    const size_t rank = output_.shape.size();
    return ForEach(output_.shape, [&](auto point) -> Status {
      const std::vector<double> weights = Attend(step, point);
      double sum = 0;
      Dims at(point);
      for (size_t t = 0; t < weights.size(); ++t) {
        at[rank - 2] = static_cast<int64_t>(t);
        if (weights[t] != 0) sum += weights[t] * Read(2, at);
      }
      return Store(point, RealScalar(sum, output_.dtype));
    });
  }

  Status operator()(const ScatterStep& step) const {
    CopyElements(inputs_[0], output_);
    const Evaluation program(step.program, inputs_, symbols_);
    return ForEach(Extents(step.extents), [&](auto point) -> Status {
      TONDAR_ASSIGN_OR_RETURN(const std::vector<Scalar> results, program.AllAt(point));
      Dims at;
      for (size_t d = 0; d < output_.shape.size(); ++d) {
        const int64_t position = results[1 + d].whole, extent = output_.shape[d];
        if (position < -extent || position >= extent) {
          return InvalidArgument("index {} is out of range for an extent of {}", position, extent);
        }
        at.push_back(position < 0 ? position + extent : position);
      }
      const Scalar old = ReadScalar(Address(output_, at.span()), output_.dtype);
      return Store(at.span(), Scattered(step.op, old, results[0]));
    });
  }

  Status operator()(const SortStep& step) const {
    const size_t last = inputs_[0].shape.size() - 1;
    const int64_t n = inputs_[0].shape[last], k = output_.shape[last];
    if (k > n) return InvalidArgument("the first {} of {} elements", k, n);
    return ForEach(Dims(output_.shape.span().first(last)), [&](auto row) -> Status {
      std::vector<int64_t> positions(static_cast<size_t>(n));
      for (size_t i = 0; i < positions.size(); ++i) positions[i] = static_cast<int64_t>(i);
      const auto key = [&](int64_t i) { return ReadScalar(Address(inputs_[0], Concat(row, Dims{i}.span()).span()), inputs_[0].dtype); };
      std::stable_sort(positions.begin(), positions.end(), [&](int64_t a, int64_t b) {
        return step.descending ? ComesBefore(key(b), key(a)) : ComesBefore(key(a), key(b));
      });
      for (int64_t i = 0; i < k; ++i) {
        const Scalar position = WholeScalar(positions[static_cast<size_t>(i)], DType::kInt64);
        TONDAR_RETURN_IF_ERROR(Store(Concat(row, Dims{i}.span()).span(), position));
      }
      return OkStatus();
    });
  }

  Status operator()(const LinalgStep& step) const {
    const TensorView& a = inputs_[0];
    const size_t outer = output_.shape.size() - 1;
    linalg::Extents extents{a.shape[outer], a.shape[outer + 1], 0};
    if (inputs_.size() > 1) extents.k = inputs_[1].shape[outer + 1];
    return ForEach(Dims(output_.shape.span().first(outer)), [&](auto at) -> Status {
      std::vector<double> first = ReadMatrix(0, at), second = inputs_.size() > 1 ? ReadMatrix(1, at) : std::vector<double>();
      std::vector<double> result(static_cast<size_t>(linalg::ResultElements(step, extents)));
      std::vector<double> work(static_cast<size_t>(linalg::WorkElements(step, extents)));
      const char* error = linalg::Solve(step, extents, first.data(), second.data(), result.data(), work.data());
      if (error != nullptr) return InvalidArgument("{}", error);
      for (size_t i = 0; i < result.size(); ++i) {
        TONDAR_RETURN_IF_ERROR(Store(Concat(at, Dims{static_cast<int64_t>(i)}.span()).span(), RealScalar(result[i], output_.dtype)));
      }
      return OkStatus();
    });
  }

  Status operator()(const NormStep& step) const {
    const Dims& shape = inputs_[0].shape;
    const size_t kept = shape.size() - static_cast<size_t>(step.axes);
    const Dims outer(shape.span().first(kept)), inner(shape.span().subspan(kept));
    return ForEach(outer, [&](auto point) -> Status {
      std::vector<double> values;
      TONDAR_RETURN_IF_ERROR(ForEach(inner, [&](auto rest) -> Status {
        values.push_back(Read(0, Concat(point, rest)));
        return OkStatus();
      }));
      Normalise(step, values);
      size_t next = 0;
      return ForEach(inner, [&](auto rest) -> Status {
        double value = values[next++];
        if (step.has_weight) value *= Read(1, Dims(rest));
        if (step.has_bias) value += Read(2, Dims(rest));
        return Finish(step.epilogue, Concat(point, rest).span(), RealScalar(value, AccumulatorDType(inputs_[0].dtype)));
      });
    });
  }

 private:
  Dims Extents(const Shape& shape) const { return Evaluate(shape, symbols_); }
  // The matrix of an operand's last two dims, row-major.
  std::vector<double> ReadMatrix(size_t operand, std::span<const int64_t> at) const {
    const Dims& shape = inputs_[operand].shape;
    std::vector<double> elements;
    for (int64_t i = 0; i < shape[shape.size() - 2]; ++i) {
      for (int64_t j = 0; j < shape[shape.size() - 1]; ++j) elements.push_back(Read(operand, Concat(at, Dims{i, j}.span())));
    }
    return elements;
  }

  double Read(size_t operand, const Dims& index) const {
    return ReadScalar(Address(inputs_[operand], index.span()), inputs_[operand].dtype).AsReal();
  }

  Status Store(std::span<const int64_t> point, const Scalar& value) const {
    if (value.dtype != output_.dtype) return Internal("a step stores {} as {}", Name(value.dtype), Name(output_.dtype));
    WriteScalar(value, Address(output_, point));
    return OkStatus();
  }

  Status Finish(const LoopProgram& program, std::span<const int64_t> point, const Scalar& accumulated) const {
    if (program.empty()) return Store(point, accumulated);
    TONDAR_ASSIGN_OR_RETURN(const Scalar value, Evaluation(program, inputs_, symbols_).At(point, accumulated));
    return Store(point, value);
  }

  // Kernel positions as a shape of their own.
  Dims Kernel() const { return Dims(inputs_[1].shape.span().subspan(2)); }

  double ConvolvedSum(const ConvStep& step, std::span<const int64_t> point) const {
    const Dims &x = inputs_[0].shape, &w = inputs_[1].shape;
    const int64_t per_group = w[0] / step.groups, first = point[1] / per_group * w[1];
    double sum = 0;
    for (int64_t c = 0; c < w[1]; ++c) {
      ForEach(Kernel(), [&](auto k) {
        Dims at_x{point[0], first + c}, at_w{point[1], c};
        for (size_t d = 0; d < k.size(); ++d) {
          const int64_t at = point[2 + d] * step.stride[d] - step.padding[d] + k[d] * step.dilation[d];
          if (at < 0 || at >= x[2 + d]) return OkStatus();
          at_x.push_back(at);
          at_w.push_back(k[d]);
        }
        sum += Read(0, at_x) * Read(1, at_w);
        return OkStatus();
      }).IgnoreError("the visitor never fails");
    }
    return sum;
  }

  double TransposedSum(const ConvStep& step, std::span<const int64_t> point) const {
    const Dims &x = inputs_[0].shape, &w = inputs_[1].shape;
    const int64_t group = point[1] / w[1], per_group = w[0] / step.groups;
    double sum = 0;
    for (int64_t c = group * per_group; c < (group + 1) * per_group; ++c) {
      ForEach(Kernel(), [&](auto k) {
        Dims at_x{point[0], c}, at_w{c, point[1] % w[1]};
        for (size_t d = 0; d < k.size(); ++d) {
          const int64_t scaled = point[2 + d] + step.padding[d] - k[d] * step.dilation[d];
          const int64_t at = scaled / step.stride[d];
          if (scaled < 0 || scaled % step.stride[d] != 0 || at >= x[2 + d]) return OkStatus();
          at_x.push_back(at);
          at_w.push_back(k[d]);
        }
        sum += Read(0, at_x) * Read(1, at_w);
        return OkStatus();
      }).IgnoreError("the visitor never fails");
    }
    return sum;
  }

  // Softmax weights of the keys for the query at `point`.
  std::vector<double> Attend(const AttentionStep& step, std::span<const int64_t> point) const {
    const size_t rank = output_.shape.size();
    const int64_t keys = inputs_[1].shape[rank - 2], width = inputs_[1].shape[rank - 1];
    std::vector<double> scores;
    Dims at_q(point), at_k(point), at_mask(point);
    for (int64_t t = 0; t < keys; ++t) {
      double score = 0;
      at_k[rank - 2] = at_mask[rank - 1] = t;
      for (int64_t d = 0; d < width; ++d) {
        at_q[rank - 1] = at_k[rank - 1] = d;
        score += Read(0, at_q) * Read(1, at_k);
      }
      score *= step.scale;
      if (step.causal && t > point[rank - 2]) score = -INFINITY;
      if (step.has_mask) score += inputs_[3].dtype != DType::kBool ? Read(3, at_mask) : Read(3, at_mask) != 0 ? 0 : -INFINITY;
      scores.push_back(score);
    }
    const bool masked = std::all_of(scores.begin(), scores.end(), [](double s) { return s == -INFINITY; });
    if (masked && step.zero_masked_rows) return std::vector<double>(scores.size(), 0);
    Softmax(scores, false);
    return scores;
  }

  static void Softmax(std::vector<double>& values, bool log) {
    double largest = -INFINITY, sum = 0;
    for (double value : values) largest = std::isnan(value) ? NAN : std::fmax(largest, value);
    for (double value : values) sum += std::exp(value - largest);
    for (double& value : values) value = log ? value - largest - std::log(sum) : std::exp(value - largest) / sum;
  }

  static void Normalise(const NormStep& step, std::vector<double>& values) {
    const double count = static_cast<double>(values.size());
    if (step.kind == NormKind::kSoftmax || step.kind == NormKind::kLogSoftmax) {
      return Softmax(values, step.kind == NormKind::kLogSoftmax);
    }
    double mean = 0, square = 0;
    for (double value : values) mean += step.kind == NormKind::kLayerNorm ? value / count : 0;
    for (double value : values) square += (value - mean) * (value - mean) / count;
    for (double& value : values) value = (value - mean) / std::sqrt(square + step.epsilon);
  }

  std::vector<TensorView> inputs_;
  TensorView output_;
  std::span<const int64_t> symbols_;
};

// --- The views ------------------------------------------------------------------------------------------------------

// How the output of a view lies over its input.
TensorView ViewOf(const Node& node, TensorView x, const Dims& shape, std::span<const int64_t> symbols) {
  const Arguments args(node);
  TensorView view = x;
  view.shape = shape;
  if (node.op == "reshape") {
    view.strides = ContiguousStrides(shape);
  } else if (node.op == "permute") {
    const std::vector<int64_t> dims = args.Ints("dims");
    for (size_t d = 0; d < dims.size(); ++d) view.strides[d] = x.strides[static_cast<size_t>(dims[d])];
  } else if (node.op == "expand") {
    const size_t added = shape.size() - x.shape.size();
    view.strides = Dims::Filled(shape.rank(), 0);
    for (size_t d = added; d < shape.size(); ++d) view.strides[d] = x.shape[d - added] == shape[d] ? x.strides[d - added] : 0;
  } else if (node.op == "slice") {
    const size_t d = static_cast<size_t>(args.Int("dim"));
    const int64_t start = args.Size("start").Evaluate(symbols);
    view.data += start * x.strides[d] * static_cast<int64_t>(SizeOf(x.dtype));
    view.strides[d] *= args.Int("step");
  }
  return view;
}

// Rounds after which a loop is taken for endless.
constexpr int kMostRounds = 10000;

// A node that runs subgraphs: see engine/ir/graph.h.
Result<std::vector<Constant>> RunControl(const Node& node, std::vector<Constant> inputs, std::span<const int64_t> symbols) {
  const auto truth = [](const Constant& decision) { return *decision.view.data != std::byte{0}; };
  if (node.op == kCondOp) {
    const Graph& taken = *node.subgraphs[truth(inputs[0]) ? 0 : 1];
    return Interpret(taken, std::span(inputs).subspan(1), symbols);
  }
  for (int round = 0; round < kMostRounds; ++round) {
    TONDAR_ASSIGN_OR_RETURN(const std::vector<Constant> decision, Interpret(*node.subgraphs[0], inputs, symbols));
    if (!truth(decision.at(0))) {
      inputs.resize(node.outputs.size());
      return inputs;
    }
    TONDAR_ASSIGN_OR_RETURN(std::vector<Constant> next, Interpret(*node.subgraphs[1], inputs, symbols));
    std::move(next.begin(), next.end(), inputs.begin());
  }
  return InvalidArgument("'{}' did not end after {} rounds", node.name, kMostRounds);
}

void CopyConcat(const Node& node, const std::vector<TensorView>& inputs, const TensorView& output) {
  const size_t d = static_cast<size_t>(Arguments(node).Int("dim"));
  TensorView window = output;
  for (const TensorView& input : inputs) {
    window.shape = input.shape;
    CopyElements(input, window);
    window.data += input.shape[d] * output.strides[d] * static_cast<int64_t>(SizeOf(output.dtype));
  }
}

}  // namespace

Result<std::vector<Constant>> Interpret(const Graph& graph, std::span<const Constant> inputs,
                                        std::span<const int64_t> symbols) {
  std::map<const Value*, Constant> values;
  for (size_t i = 0; i < graph.inputs.size(); ++i) values[graph.inputs[i]] = inputs[i];
  for (const Value* constant : graph.constants()) values[constant] = CopyToConstant(constant->name, constant->constant->view);
  for (const auto& node : graph.nodes()) {
    if (!node->subgraphs.empty()) {
      std::vector<Constant> given;
      for (const Value* input : node->inputs) given.push_back(values.at(input));
      TONDAR_ASSIGN_OR_RETURN(std::vector<Constant> results, RunControl(*node, std::move(given), symbols));
      for (size_t i = 0; i < results.size(); ++i) values[node->outputs[i]] = std::move(results[i]);
      continue;
    }
    if (node->outputs.size() != 1) return Internal("node '{}' has {} outputs", node->name, node->outputs.size());
    std::vector<TensorView> operands;
    for (const Value* input : node->inputs) operands.push_back(values.at(input).view);
    const Value* result = node->outputs[0];
    const Dims shape = Evaluate(result->shape, symbols);
    if (!CheckedElementCount(shape.span())) return InvalidArgument("'{}' has the shape {}", node->name, ToString(shape));
    Constant output = AllocateConstant(result->name, result->dtype, shape);
    if (node->IsStep()) {
      TONDAR_RETURN_IF_ERROR(std::visit(StepRunner(operands, output.view, symbols), *node->body).Annotated(node->name));
    } else if (node->op == "concat") {
      CopyConcat(*node, operands, output.view);
    } else if (node->op == kBitsOp) {
      const Constant dense = CopyToConstant("", operands[0]);
      std::memcpy(output.view.data, dense.view.data, std::min(dense.view.size_bytes(), output.view.size_bytes()));
    } else if (const OpSchema* schema = OpRegistry::Get().Find(node->op); schema != nullptr && schema->is_view) {
      CopyElements(ViewOf(*node, operands[0], shape, symbols), output.view);
    } else {
      return Internal("node '{}' ({}) is not lowered", node->name, node->op);
    }
    values[result] = std::move(output);
  }
  std::vector<Constant> outputs;
  for (const Value* output : graph.outputs) outputs.push_back(values.at(output));
  return outputs;
}

}  // namespace tondar
