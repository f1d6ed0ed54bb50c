// LoopProgram: what a loop step computes at one point of its iteration space, for every device alike.
//
// A loop step walks an iteration space of up to kMaxRank loop dims. At each point it evaluates `body`, a list of
// instructions in static single assignment form, and stores (map) or accumulates (reduce) the `results`. Instructions
// read step operands through accesses, which map the point to an element by affine index expressions; a backend turns
// the whole into code once (SIMD tiles, CUDA C, OpenCL C, MSL).
#ifndef TONDAR_ENGINE_PLAN_LOOP_PROGRAM_H_
#define TONDAR_ENGINE_PLAN_LOOP_PROGRAM_H_

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "engine/base/status.h"
#include "engine/types/dtype.h"
#include "engine/types/shape.h"

namespace tondar {

enum class LoopOp : uint8_t {
  // Sources.
  kLoad,         // the element that accesses[source] addresses; dtype is the operand's
  kConstant,     // immediate
  kIndex,        // the point's position along loop dim `source`; int64
  kSize,         // the value of the expression sizes[source]; int64
  kAccumulator,  // finish and epilogue programs: the reduced or multiplied value number `source`
  // One operand. Floating-point maths follows C's functions of the same name.
  kCast,  // to dtype; float to integer truncates, anything to bool is "!= 0"
  kNeg, kAbs, kSign, kFloor, kCeil, kTrunc, kRound /* half to even */, kSqrt, kRsqrt, kReciprocal,
  kExp, kExp2, kExpm1, kLog, kLog2, kLog10, kLog1p, kSin, kCos, kTan, kAsin, kAcos, kAtan, kSinh, kCosh, kTanh,
  kAsinh, kAcosh, kAtanh, kErf, kErfc, kLgamma, kDigamma, kErfinv,
  kSigmoid,   // 1 / (1 + exp(-x))
  kRelu,      // max(x, 0), NaN stays NaN
  kGelu,      // x/2 (1 + erf(x / sqrt 2))
  kGeluTanh,  // x/2 (1 + tanh(sqrt(2/pi) (x + 0.044715 x^3)))
  kSilu,      // x sigmoid(x)
  kLogicalNot, kBitNot, kIsNan, kIsInf,
  // Two operands of one dtype. Comparisons and logic give bool.
  kAdd, kSub, kMul, kDiv /* true division for floats, C truncation for integers */, kFloorDiv /* towards -inf */,
  kFmod /* sign of the dividend */, kRemainder /* sign of the divisor */, kPow, kAtan2, kHypot, kCopysign, kNextafter,
  kMax, kMin /* NaN if either is NaN */, kFmax, kFmin /* the other if one is NaN */,
  kEq, kNe, kLt, kLe, kGt, kGe, kLogicalAnd, kLogicalOr, kLogicalXor, kBitAnd, kBitOr, kBitXor, kShiftLeft, kShiftRight,
  // Three operands: a ? b : c, a being bool.
  kSelect,
};
inline constexpr int kLoopOpCount = static_cast<int>(LoopOp::kSelect) + 1;

struct LoopOpInfo {
  std::string_view name;  // "add", as text formats print it
  int8_t arity;           // operands that are instructions: 0 to 3
  bool gives_bool;        // dtype is bool whatever the operands are
};
const LoopOpInfo& InfoOf(LoopOp op);

// One instruction. a, b, c are positions of earlier instructions in the body.
struct LoopInstruction {
  LoopOp op = LoopOp::kConstant;
  DType dtype = DType::kInvalid;  // of the result
  int16_t a = -1, b = -1, c = -1;
  int16_t source = -1;   // kLoad: access; kIndex: loop dim; kSize: entry of sizes; kAccumulator: which
  double immediate = 0;  // kConstant of float or bool dtype
  int64_t integer = 0;   // kConstant of integer dtype
  friend bool operator==(const LoopInstruction&, const LoopInstruction&) = default;
};

// A computed position for which counting from the end would be wrong (PyTorch's gather, say) is moved down by this if it is
// negative, so that it is out of range whatever the extent. Devices report it as it was.
inline constexpr int64_t kBelowZero = int64_t{1} << 62;

// The position along one dim of an operand: sum of coefficient * (position along a loop dim) + offset, plus the value
// of an instruction where `dynamic` names one.
struct IndexExpression {
  struct Term {
    int8_t loop_dim;
    int64_t coefficient;
    friend bool operator==(const Term&, const Term&) = default;
  };
  std::vector<Term> terms;  // at most one per loop dim; sorted by loop dim
  Dim offset;
  // Position of an integer instruction whose value is added. Values below zero count from the end; a value outside
  // [-extent, extent) is the request's error: the step fails with InvalidArgument.
  int16_t dynamic = -1;
  // The position may fall outside [0, extent): the access then gives Access::fill instead of reading.
  bool guarded = false;

  static IndexExpression LoopDim(int dim) { return {{{static_cast<int8_t>(dim), 1}}, Dim(0), -1, false}; }
  static IndexExpression At(Dim offset) { return {{}, std::move(offset), -1, false}; }
  static IndexExpression Dynamic(int16_t instruction) { return {{}, Dim(0), instruction, false}; }
  friend bool operator==(const IndexExpression&, const IndexExpression&) = default;
};

// How a load addresses one operand of the step: one expression per dim of the operand.
struct Access {
  int16_t operand = 0;  // index into the step's inputs
  std::vector<IndexExpression> index;
  double fill = 0;  // value of guarded accesses outside the operand
  friend bool operator==(const Access&, const Access&) = default;
};

struct LoopProgram {
  std::vector<Access> accesses;
  std::vector<Dim> sizes;  // values that kSize instructions read
  std::vector<LoopInstruction> body;
  std::vector<int16_t> results;  // positions in body
  friend bool operator==(const LoopProgram&, const LoopProgram&) = default;

  bool empty() const { return results.empty(); }
};

// The access of an operand of shape `operand_shape` that broadcasts to loop extents of rank `loop_rank` by the NumPy
// rule (trailing dims aligned; extents of 1 repeat).
Access BroadcastAccess(int operand, const Shape& operand_shape, int loop_rank);

// Checks that a program is well formed: positions exist and come earlier, arities and dtypes fit, accesses have one
// expression per operand dim, loop dims are below `loop_rank`. Internal: a bug of ours, says which instruction.
Status VerifyProgram(const LoopProgram& program, std::span<const int> operand_ranks, int loop_rank, int accumulators);

// One line per instruction.
std::string ToString(const LoopProgram& program, std::span<const SymbolInfo> symbols = {});

}  // namespace tondar

#endif  // TONDAR_ENGINE_PLAN_LOOP_PROGRAM_H_
