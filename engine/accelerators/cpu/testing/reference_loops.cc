#include "engine/accelerators/cpu/testing/reference_loops.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>
#include <vector>

#include "engine/accelerators/cpu/scalar_functions.h"

namespace tondar::cpu {
namespace {

template <typename F>
void WithIntegerType(DType dtype, F f) {
  switch (dtype) {
    case DType::kUInt8: return f(uint8_t{});
    case DType::kUInt16: return f(uint16_t{});
    case DType::kUInt32: return f(uint32_t{});
    case DType::kUInt64: return f(uint64_t{});
    case DType::kInt8: return f(int8_t{});
    case DType::kInt16: return f(int16_t{});
    case DType::kInt32: return f(int32_t{});
    case DType::kInt64: return f(int64_t{});
    default: return f(uint8_t{});  // bool
  }
}

double RoundFloat(DType dtype, double value) {
  switch (dtype) {
    case DType::kFloat16: return static_cast<double>(Float16ToFloat(FloatToFloat16(static_cast<float>(value))));
    case DType::kBFloat16: return static_cast<double>(BFloat16ToFloat(FloatToBFloat16(static_cast<float>(value))));
    case DType::kFloat32: return static_cast<double>(static_cast<float>(value));
    default: return value;
  }
}

int64_t Wrap(DType dtype, int64_t value) {
  if (dtype == DType::kBool) return value != 0;
  WithIntegerType(dtype, [&](auto type) { value = static_cast<int64_t>(static_cast<decltype(type)>(value)); });
  return value;
}

double UnaryFloat(LoopOp op, double x) {
  switch (op) {
    case LoopOp::kNeg: return -x;
    case LoopOp::kAbs: return std::fabs(x);
    case LoopOp::kSign: return x > 0 ? 1 : (x < 0 ? -1 : x);
    case LoopOp::kFloor: return std::floor(x);
    case LoopOp::kCeil: return std::ceil(x);
    case LoopOp::kTrunc: return std::trunc(x);
    case LoopOp::kRound: return std::nearbyint(x);
    case LoopOp::kSqrt: return std::sqrt(x);
    case LoopOp::kRsqrt: return 1 / std::sqrt(x);
    case LoopOp::kReciprocal: return 1 / x;
    case LoopOp::kExp: return std::exp(x);
    case LoopOp::kExp2: return std::exp2(x);
    case LoopOp::kExpm1: return std::expm1(x);
    case LoopOp::kLog: return std::log(x);
    case LoopOp::kLog2: return std::log2(x);
    case LoopOp::kLog10: return std::log10(x);
    case LoopOp::kLog1p: return std::log1p(x);
    case LoopOp::kSin: return std::sin(x);
    case LoopOp::kCos: return std::cos(x);
    case LoopOp::kTan: return std::tan(x);
    case LoopOp::kAsin: return std::asin(x);
    case LoopOp::kAcos: return std::acos(x);
    case LoopOp::kAtan: return std::atan(x);
    case LoopOp::kSinh: return std::sinh(x);
    case LoopOp::kCosh: return std::cosh(x);
    case LoopOp::kTanh: return std::tanh(x);
    case LoopOp::kAsinh: return std::asinh(x);
    case LoopOp::kAcosh: return std::acosh(x);
    case LoopOp::kAtanh: return std::atanh(x);
    case LoopOp::kErf: return std::erf(x);
    case LoopOp::kErfc: return std::erfc(x);
    case LoopOp::kLgamma: return std::lgamma(x);
    case LoopOp::kDigamma: return Digamma(x);
    case LoopOp::kErfinv: return Erfinv(x);
    case LoopOp::kSigmoid: return 1 / (1 + std::exp(-x));
    case LoopOp::kRelu: return x < 0 ? 0 : x;
    case LoopOp::kGelu: return x * 0.5 * (1 + std::erf(x / std::sqrt(2.0)));
    case LoopOp::kGeluTanh: return x * 0.5 * (1 + std::tanh(std::sqrt(2 / M_PI) * (x + 0.044715 * x * x * x)));
    case LoopOp::kSilu: return x / (1 + std::exp(-x));
    default: return std::numeric_limits<double>::quiet_NaN();
  }
}

double PythonRemainder(double x, double y) {
  const double rest = std::fmod(x, y);
  return rest != 0 && (rest < 0) != (y < 0) ? rest + y : rest;
}

double BinaryFloat(LoopOp op, double x, double y) {
  const bool nan = std::isnan(x) || std::isnan(y);
  switch (op) {
    case LoopOp::kAdd: return x + y;
    case LoopOp::kSub: return x - y;
    case LoopOp::kMul: return x * y;
    case LoopOp::kDiv: return x / y;
    case LoopOp::kFloorDiv: return y == 0 ? x / y : std::nearbyint((x - PythonRemainder(x, y)) / y);
    case LoopOp::kFmod: return std::fmod(x, y);
    case LoopOp::kRemainder: return PythonRemainder(x, y);
    case LoopOp::kPow: return std::pow(x, y);
    case LoopOp::kAtan2: return std::atan2(x, y);
    case LoopOp::kHypot: return std::hypot(x, y);
    case LoopOp::kCopysign: return std::copysign(x, y);
    case LoopOp::kMax: return nan ? x + y : std::max(x, y);
    case LoopOp::kMin: return nan ? x + y : std::min(x, y);
    case LoopOp::kFmax: return std::fmax(x, y);
    case LoopOp::kFmin: return std::fmin(x, y);
    default: return std::numeric_limits<double>::quiet_NaN();
  }
}

template <typename T>
bool Compare(LoopOp op, T x, T y) {
  switch (op) {
    case LoopOp::kEq: return x == y;
    case LoopOp::kNe: return x != y;
    case LoopOp::kLt: return x < y;
    case LoopOp::kLe: return x <= y;
    case LoopOp::kGt: return x > y;
    case LoopOp::kGe: return x >= y;
    case LoopOp::kLogicalAnd: return x != 0 && y != 0;
    case LoopOp::kLogicalOr: return x != 0 || y != 0;
    case LoopOp::kLogicalXor: return (x != 0) != (y != 0);
    case LoopOp::kLogicalNot: return x == 0;
    case LoopOp::kIsNan: return x != x;
    case LoopOp::kIsInf: return std::is_floating_point_v<T> && std::isinf(static_cast<double>(x));
    default: return false;
  }
}

using Wide = __int128;

Wide PowerOf(Wide x, int64_t y, DType dtype) {
  if (y < 0 && InfoOf(dtype).kind == DTypeKind::kSigned) return x == 1 ? 1 : (x == -1 ? (y % 2 ? -1 : 1) : 0);
  uint64_t result = 1, base = static_cast<uint64_t>(x);
  for (uint64_t e = static_cast<uint64_t>(y); e != 0; e >>= 1, base *= base) result *= e & 1 ? base : 1;
  return static_cast<int64_t>(result);
}

Wide IntegerOp(LoopOp op, DType dtype, Wide x, Wide y) {
  const int bits = static_cast<int>(SizeOf(dtype)) * 8;
  const Wide quotient = y == 0 ? 0 : x / y, rest = y == 0 ? x : x % y;
  const bool uneven = y != 0 && rest != 0 && (rest < 0) != (y < 0);
  const bool shifts_out = y < 0 || y >= bits;
  switch (op) {
    case LoopOp::kNeg: return -x;
    case LoopOp::kAbs: return x < 0 ? -x : x;
    case LoopOp::kSign: return (x > 0) - (x < 0);
    case LoopOp::kRelu: return x < 0 ? 0 : x;
    case LoopOp::kBitNot: return dtype == DType::kBool ? x == 0 : ~x;
    case LoopOp::kAdd: return x + y;
    case LoopOp::kSub: return x - y;
    case LoopOp::kMul: return static_cast<int64_t>(static_cast<uint64_t>(x) * static_cast<uint64_t>(y));
    case LoopOp::kDiv: return quotient;
    case LoopOp::kFloorDiv: return uneven ? quotient - 1 : quotient;
    case LoopOp::kFmod: return y == 0 ? 0 : rest;
    case LoopOp::kRemainder: return y == 0 ? 0 : (uneven ? rest + y : rest);
    case LoopOp::kPow: return PowerOf(x, static_cast<int64_t>(y), dtype);
    case LoopOp::kMax: case LoopOp::kFmax: return std::max(x, y);
    case LoopOp::kMin: case LoopOp::kFmin: return std::min(x, y);
    case LoopOp::kBitAnd: return x & y;
    case LoopOp::kBitOr: return x | y;
    case LoopOp::kBitXor: return x ^ y;
    case LoopOp::kShiftLeft: return shifts_out ? 0 : static_cast<int64_t>(static_cast<uint64_t>(x) << static_cast<int>(y));
    case LoopOp::kShiftRight: return shifts_out ? (x < 0 ? -1 : 0) : x >> static_cast<int>(y);
    default: return x;  // rounding of integers
  }
}

// Unsigned 64-bit values are kept in int64; widen them right.
Wide Widen(DType dtype, int64_t i) { return dtype == DType::kUInt64 ? Wide{static_cast<uint64_t>(i)} : Wide{i}; }

ReferenceScalar CastScalar(DType from, DType to, ReferenceScalar x) {
  if (IsFloat(from)) {
    if (IsFloat(to)) return {RoundFloat(to, x.f), 0};
    if (to == DType::kBool) return {0, x.f != 0};
    if (to == DType::kUInt64 && x.f >= 9223372036854775808.0) return {0, static_cast<int64_t>(static_cast<uint64_t>(x.f))};
    return {0, Wrap(to, static_cast<int64_t>(x.f))};
  }
  if (!IsFloat(to)) return {0, Wrap(to, x.i)};
  if (from == DType::kUInt64) return {to == DType::kFloat64 ? static_cast<double>(static_cast<uint64_t>(x.i)) : RoundFloat(to, static_cast<double>(static_cast<float>(static_cast<uint64_t>(x.i)))), 0};
  return {to == DType::kFloat64 ? static_cast<double>(x.i) : RoundFloat(to, static_cast<double>(static_cast<float>(x.i))), 0};
}

// --- Programs ---------------------------------------------------------------------------------------------------------

class Interpreter {
 public:
  Interpreter(const LoopProgram& program, const KernelArguments& arguments) : program_(program), arguments_(arguments) {}

  // Values of all instructions at a point.
  void Evaluate(std::span<const int64_t> index, std::span<const ReferenceScalar> accumulators) {
    values_.resize(program_.body.size());
    for (size_t i = 0; i < program_.body.size(); ++i) values_[i] = One(program_.body[i], index, accumulators);
  }
  ReferenceScalar result(size_t r) const { return values_[static_cast<size_t>(program_.results[r])]; }
  DType dtype(size_t r) const { return program_.body[static_cast<size_t>(program_.results[r])].dtype; }
  bool failed() const { return failed_; }

 private:
  ReferenceScalar At(int16_t i) const { return i < 0 ? ReferenceScalar{} : values_[static_cast<size_t>(i)]; }

  ReferenceScalar One(const LoopInstruction& x, std::span<const int64_t> index, std::span<const ReferenceScalar> accumulators) {
    switch (x.op) {
      case LoopOp::kConstant: return {RoundFloat(x.dtype, x.immediate), x.dtype == DType::kBool ? x.immediate != 0 : x.integer};
      case LoopOp::kIndex: return {0, index[static_cast<size_t>(x.source)]};
      case LoopOp::kSize: return {0, program_.sizes[static_cast<size_t>(x.source)].Evaluate(arguments_.symbols)};
      case LoopOp::kAccumulator: return accumulators[static_cast<size_t>(x.source)];
      case LoopOp::kLoad: return Load(program_.accesses[static_cast<size_t>(x.source)], index);
      default: break;
    }
    const int16_t operand = x.op == LoopOp::kSelect ? x.b : x.a;
    return EvaluateOp(x.op, x.dtype, program_.body[static_cast<size_t>(operand)].dtype, At(x.a), At(x.b), At(x.c));
  }

  ReferenceScalar Load(const Access& access, std::span<const int64_t> index) {
    const DeviceTensor& tensor = arguments_.inputs[static_cast<size_t>(access.operand)];
    const ReferenceScalar fill = {RoundFloat(tensor.dtype, access.fill), static_cast<int64_t>(access.fill)};
    int64_t element = 0;
    bool inside = true;
    for (size_t j = 0; j < access.index.size(); ++j) {
      const IndexExpression& expression = access.index[j];
      int64_t position = expression.offset.Evaluate(arguments_.symbols);
      for (const auto& term : expression.terms) position += term.coefficient * index[static_cast<size_t>(term.loop_dim)];
      if (expression.dynamic >= 0) {
        const int64_t value = values_[static_cast<size_t>(expression.dynamic)].i;
        position += value < 0 && !expression.guarded ? value + tensor.shape[j] : value;
      }
      if (position < 0 || position >= tensor.shape[j]) {
        inside = false;
        if (!expression.guarded) failed_ = true;
      }
      element += position * tensor.strides[j];
    }
    if (!inside) return fill;
    return ReadScalar(tensor.data + element * static_cast<int64_t>(SizeOf(tensor.dtype)), tensor.dtype);
  }

  const LoopProgram& program_;
  const KernelArguments& arguments_;
  std::vector<ReferenceScalar> values_;
  bool failed_ = false;
};

bool Next(std::vector<int64_t>& index, const Dims& extents, size_t begin, size_t end) {
  for (size_t d = end; d-- > begin;) {
    if (++index[d] < extents[d]) return true;
    index[d] = 0;
  }
  return false;
}

std::byte* Address(const DeviceTensor& tensor, std::span<const int64_t> index) {
  int64_t element = 0;
  for (size_t d = 0; d < tensor.shape.size(); ++d) element += index[d] * tensor.strides[d];
  return tensor.data + element * static_cast<int64_t>(SizeOf(tensor.dtype));
}

bool RunMap(const MapStep& step, const KernelArguments& arguments) {
  const Dims extents = Evaluate(step.extents, arguments.symbols);
  if (ElementCount(extents) == 0) return true;
  Interpreter interpreter(step.program, arguments);
  std::vector<int64_t> index(extents.size());
  do {
    interpreter.Evaluate(index, {});
    for (size_t r = 0; r < step.program.results.size(); ++r) {
      WriteScalar(Address(arguments.outputs[r], index), arguments.outputs[r].dtype, interpreter.result(r));
    }
  } while (Next(index, extents, 0, extents.size()));
  return !interpreter.failed();
}

struct Running {
  ReferenceScalar value;
  int64_t position = 0;
  bool first = true;
};

// In a scan the later of equals, and of NaNs, wins.
bool BeatsInScan(DType dtype, bool max, ReferenceScalar a, ReferenceScalar b) {
  if (IsFloat(dtype)) return std::isnan(a.f) || (max ? a.f >= b.f : a.f <= b.f);
  const Wide x = Widen(dtype, a.i), y = Widen(dtype, b.i);
  return max ? x >= y : x <= y;
}

bool Beats(DType dtype, bool max, ReferenceScalar a, ReferenceScalar b) {
  if (IsFloat(dtype)) {
    if (std::isnan(b.f)) return false;
    return std::isnan(a.f) || (max ? a.f > b.f : a.f < b.f);
  }
  const Wide x = Widen(dtype, a.i), y = Widen(dtype, b.i);
  return max ? x > y : x < y;
}

double LogAddExp(double a, double b) {
  const double high = std::max(a, b);
  return std::isinf(high) ? high : std::log(std::exp(a - high) + std::exp(b - high)) + high;
}

void Take(ReduceOp op, DType dtype, ReferenceScalar value, int64_t position, Running& running,
          bool (*beats)(DType, bool, ReferenceScalar, ReferenceScalar) = Beats) {
  ReferenceScalar& sum = running.value;
  switch (op) {
    case ReduceOp::kSum: sum.f += value.f; sum.i = static_cast<int64_t>(static_cast<uint64_t>(sum.i) + static_cast<uint64_t>(value.i)); break;
    case ReduceOp::kProduct: sum.f *= value.f; sum.i = static_cast<int64_t>(static_cast<uint64_t>(sum.i) * static_cast<uint64_t>(value.i)); break;
    case ReduceOp::kLogAddExp: sum.f = running.first ? value.f : LogAddExp(sum.f, value.f); break;
    case ReduceOp::kAll: sum.i = sum.i && (IsFloat(dtype) ? value.f != 0 : value.i != 0); break;
    case ReduceOp::kAny: sum.i = sum.i || (IsFloat(dtype) ? value.f != 0 : value.i != 0); break;
    default: {
      const bool max = op == ReduceOp::kMax || op == ReduceOp::kArgMax;
      if (!running.first && !beats(dtype, max, value, sum)) break;
      sum = value;
      running.position = position;
    }
  }
  running.first = false;
}

bool RunReduce(const ReduceStep& step, const KernelArguments& arguments) {
  const Dims extents = Evaluate(step.extents, arguments.symbols);
  const size_t rank = extents.size(), outer = rank - static_cast<size_t>(step.reduced);
  const bool arg = step.op == ReduceOp::kArgMax || step.op == ReduceOp::kArgMin;
  int64_t outputs = 1, reduced = 1;
  for (size_t d = 0; d < rank; ++d) (d < outer ? outputs : reduced) *= extents[d];
  if (outputs == 0) return true;
  Interpreter body(step.program, arguments), finish(step.finish, arguments);
  const DType dtype = body.dtype(0);
  std::vector<int64_t> index(rank);
  do {
    Running running;
    const double neutral = step.op == ReduceOp::kProduct || step.op == ReduceOp::kAll ? 1 : 0;
    running.value = {neutral, static_cast<int64_t>(neutral)};
    if (reduced == 0 && step.op == ReduceOp::kMax) running.value.f = -INFINITY;
    if (reduced == 0 && step.op == ReduceOp::kMin) running.value.f = INFINITY;
    for (int64_t position = 0; position < reduced; ++position) {
      body.Evaluate(index, {});
      Take(step.op, dtype, body.result(0), position, running);
      Next(index, extents, outer, rank);
    }
    ReferenceScalar value = arg ? ReferenceScalar{0, running.position} : running.value;
    if (!arg) value = {RoundFloat(step.accumulator, value.f), Wrap(step.accumulator, value.i)};
    if (!step.finish.empty()) {
      finish.Evaluate(index, {&value, 1});
      value = finish.result(0);
    }
    WriteScalar(Address(arguments.outputs[0], index), arguments.outputs[0].dtype, value);
  } while (Next(index, extents, 0, outer));
  return !body.failed() && !finish.failed();
}

bool RunScan(const ScanStep& step, const KernelArguments& arguments) {
  const Dims extents = Evaluate(step.extents, arguments.symbols);
  if (ElementCount(extents) == 0) return true;
  const bool arg = step.op == ReduceOp::kArgMax || step.op == ReduceOp::kArgMin;
  Interpreter body(step.program, arguments);
  std::vector<int64_t> index(extents.size());
  do {
    Running running;
    if (step.op == ReduceOp::kProduct) running.value = {1, 1};
    for (int64_t i = 0; i < extents[extents.size() - 1]; ++i) {
      body.Evaluate(index, {});
      Take(step.op, step.accumulator, body.result(0), i, running, BeatsInScan);
      WriteScalar(Address(arguments.outputs[0], index), arguments.outputs[0].dtype, arg ? ReferenceScalar{0, running.position} : running.value);
      Next(index, extents, extents.size() - 1, extents.size());
    }
  } while (Next(index, extents, 0, extents.size() - 1));
  return !body.failed();
}

ReferenceScalar Scattered(ScatterOp op, DType dtype, ReferenceScalar old, ReferenceScalar value) {
  const bool logic = dtype == DType::kBool;
  switch (op) {
    case ScatterOp::kStore: return value;
    case ScatterOp::kAdd: return EvaluateOp(logic ? LoopOp::kLogicalOr : LoopOp::kAdd, dtype, dtype, old, value, {});
    case ScatterOp::kMultiply: return EvaluateOp(logic ? LoopOp::kLogicalAnd : LoopOp::kMul, dtype, dtype, old, value, {});
    case ScatterOp::kMax: return EvaluateOp(logic ? LoopOp::kLogicalOr : LoopOp::kMax, dtype, dtype, old, value, {});
    default: return EvaluateOp(logic ? LoopOp::kLogicalAnd : LoopOp::kMin, dtype, dtype, old, value, {});
  }
}

bool RunScatter(const ScatterStep& step, const KernelArguments& arguments) {
  const DeviceTensor& output = arguments.outputs[0];
  CopyElements(arguments.inputs[0], output);
  const Dims extents = Evaluate(step.extents, arguments.symbols);
  if (ElementCount(extents) == 0) return true;
  Interpreter body(step.program, arguments);
  std::vector<int64_t> index(extents.size());
  bool inside = true;
  do {
    body.Evaluate(index, {});
    std::vector<int64_t> target;
    for (size_t d = 0; d < output.shape.size(); ++d) {
      const int64_t at = body.result(1 + d).i;
      target.push_back(at < 0 ? at + output.shape[d] : at);
      inside = inside && target.back() >= 0 && target.back() < output.shape[d];
    }
    if (!inside) return false;
    const ReferenceScalar old = ReadScalar(Address(output, target), output.dtype);
    WriteScalar(Address(output, target), output.dtype, Scattered(step.op, output.dtype, old, body.result(0)));
  } while (Next(index, extents, 0, extents.size()));
  return !body.failed();
}

}  // namespace

ReferenceScalar ReadScalar(const std::byte* at, DType dtype) {
  const auto read = [at](auto value) {
    std::memcpy(&value, at, sizeof(value));
    return value;
  };
  switch (dtype) {
    case DType::kFloat16: return {static_cast<double>(Float16ToFloat(read(uint16_t{}))), 0};
    case DType::kBFloat16: return {static_cast<double>(BFloat16ToFloat(read(uint16_t{}))), 0};
    case DType::kFloat32: return {static_cast<double>(read(float{})), 0};
    case DType::kFloat64: return {read(double{}), 0};
    default: break;
  }
  ReferenceScalar value;
  WithIntegerType(dtype, [&](auto type) { value.i = static_cast<int64_t>(read(type)); });
  return value;
}

void WriteScalar(std::byte* at, DType dtype, ReferenceScalar value) {
  const auto write = [at](auto typed) { std::memcpy(at, &typed, sizeof(typed)); };
  switch (dtype) {
    case DType::kFloat16: return write(FloatToFloat16(static_cast<float>(value.f)));
    case DType::kBFloat16: return write(FloatToBFloat16(static_cast<float>(value.f)));
    case DType::kFloat32: return write(static_cast<float>(value.f));
    case DType::kFloat64: return write(value.f);
    default: WithIntegerType(dtype, [&](auto type) { write(static_cast<decltype(type)>(value.i)); });
  }
}

double ToDouble(ReferenceScalar value, DType dtype) {
  return IsFloat(dtype) ? value.f : static_cast<double>(Widen(dtype, value.i));
}

ReferenceScalar EvaluateOp(LoopOp op, DType dtype, DType from, ReferenceScalar a, ReferenceScalar b, ReferenceScalar c) {
  if (op == LoopOp::kCast) return CastScalar(from, dtype, a);
  if (op == LoopOp::kSelect) return a.i ? b : c;
  if (InfoOf(op).gives_bool) {
    if (IsFloat(from)) return {0, Compare(op, a.f, b.f)};
    return {0, Compare(op, Widen(from, a.i), Widen(from, b.i))};
  }
  if (!IsFloat(dtype)) return {0, Wrap(dtype, static_cast<int64_t>(IntegerOp(op, dtype, Widen(from, a.i), Widen(from, b.i))))};
  if (op == LoopOp::kNextafter) {
    if (dtype == DType::kFloat64) return {std::nextafter(a.f, b.f), 0};
    return {RoundFloat(dtype, static_cast<double>(std::nextafterf(static_cast<float>(a.f), static_cast<float>(b.f)))), 0};
  }
  return {RoundFloat(dtype, InfoOf(op).arity == 1 ? UnaryFloat(op, a.f) : BinaryFloat(op, a.f, b.f)), 0};
}

bool RunReference(const StepBody& body, const KernelArguments& arguments) {
  if (const auto* map = std::get_if<MapStep>(&body)) return RunMap(*map, arguments);
  if (const auto* reduce = std::get_if<ReduceStep>(&body)) return RunReduce(*reduce, arguments);
  if (const auto* scan = std::get_if<ScanStep>(&body)) return RunScan(*scan, arguments);
  return RunScatter(std::get<ScatterStep>(body), arguments);
}

}  // namespace tondar::cpu
