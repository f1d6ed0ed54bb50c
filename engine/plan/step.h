// Step: one unit of work of a compiled graph, and the parameters of each kind.
#ifndef TONDAR_ENGINE_PLAN_STEP_H_
#define TONDAR_ENGINE_PLAN_STEP_H_

#include <cstdint>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "engine/plan/loop_program.h"
#include "engine/types/dtype.h"
#include "engine/types/shape.h"

namespace tondar {

// outputs[i][point] = program.results[i] at every point of `extents`. Output operands have the loop dims as their dims.
struct MapStep {
  Shape extents;
  LoopProgram program;
};

enum class ReduceOp : uint8_t { kSum, kProduct, kMax, kMin, kAll, kAny, kArgMax, kArgMin, kLogAddExp /* scans only */ };

// Reduces the trailing `reduced` loop dims. program.results[0] feeds the accumulator (of dtype `accumulator`), which
// begins at the neutral element of `op`; kArgMax/kArgMin give the first position, row-major over the reduced dims, as
// int64; NaN wins in kMax, kMin, kArgMax, kArgMin. `finish`, if not empty, maps kAccumulator 0 to the output over
// the outer dims (mean's division, say); its accesses see only those dims. output: the outer dims.
struct ReduceStep {
  Shape extents;
  int reduced = 1;
  ReduceOp op = ReduceOp::kSum;
  DType accumulator = DType::kFloat32;
  LoopProgram program;
  LoopProgram finish;
};

// A running value along the last loop dim: output[i] = output[i-1] op program at i, output[0] = program at 0. `op` is
// kSum, kProduct, kMax, kMin, kLogAddExp (log(exp a + exp b), floats only), or kArgMax or kArgMin, which give the position
// of the extremum so far as int64, the last one among equals. A NaN wins against all that came before it, and stays.
struct ScanStep {
  Shape extents;
  ReduceOp op = ReduceOp::kSum;
  DType accumulator = DType::kFloat32;
  LoopProgram program;
};

// inputs: a [batch..., M, K], b [batch..., K, N], then what the epilogue loads. output: [batch..., M, N].
// Batch dims are equal (broadcast operands have stride 0); any strides. Accumulates in f32 (f64 for f64, i32 for
// i8/u8) in ascending k, so that a row's result does not depend on the other rows. `epilogue` loops over the output's
// dims and reads the product as kAccumulator 0; empty means store as is.
struct MatMulStep {
  LoopProgram epilogue;
};

// inputs: x [N, C, spatial...], w [O, C/groups, kernel...] (transposed: [C, O/groups, kernel...]), then what the
// epilogue loads. output: [N, O, spatial...]. One to three spatial dims; any strides (channels-last runs fastest).
struct ConvStep {
  std::vector<int64_t> stride, padding, dilation, output_padding;  // one per spatial dim
  int64_t groups = 1;
  bool transposed = false;
  LoopProgram epilogue;
};

// inputs: q [batch..., S, D], k [batch..., T, D], v [batch..., T, E], optional mask of full rank that broadcasts to
// [batch..., S, T] (bool: true = attend; float: added to the scores). output: [batch..., S, E] =
// softmax(scale q k^T + mask) v. causal: key t is visible to query s iff t <= s. A row with no visible key gives
// zeros if `zero_masked_rows`, else NaN as the softmax of all -inf does.
struct AttentionStep {
  double scale = 1;
  bool causal = false;
  bool has_mask = false;
  bool zero_masked_rows = false;
};

enum class NormKind : uint8_t { kSoftmax, kLogSoftmax, kLayerNorm, kRmsNorm };

// inputs: x [..., n...] normalised over the trailing `axes` dims; kLayerNorm and kRmsNorm then optionally weight and
// bias of the normalised dims' shape; then what the epilogue loads. output: x's shape.
// kLayerNorm: (x - mean) / sqrt(variance + epsilon) * weight + bias, variance biased.
struct NormStep {
  NormKind kind = NormKind::kSoftmax;
  int axes = 1;
  double epsilon = 0;
  bool has_weight = false, has_bias = false;
  LoopProgram epilogue;  // over the output's dims; the normalised value is kAccumulator 0
};

// How a scatter combines a value with what lies at its destination. NaN wins in kMax and kMin; on bool, kAdd and kMax are
// "or", kMultiply and kMin are "and". On 16-bit floats only kStore.
enum class ScatterOp : uint8_t { kStore, kAdd, kMultiply, kMax, kMin };

// output = base; then at every point of `extents`, in row-major order, output[target] = output[target] op value. The order
// decides which of several values for one element is stored, and how their sum rounds, so that neither depends on threads.
// inputs: base, with the output's shape and dtype (and perhaps its very place), then what the program loads. program.results[0]: the value, of the
// output's dtype. results[1 + d], int64: the target's position along output dim d. Below zero counts from the end; outside
// [-extent, extent) is the request's error: the step fails with InvalidArgument. A position that is the kIndex of a loop
// dim lets devices split the work along it.
struct ScatterStep {
  Shape extents;
  ScatterOp op = ScatterOp::kStore;
  LoopProgram program;
};

// Orders rows. inputs: keys [batch..., n], any strides. output: int64 [batch..., k], k <= n: the positions along the last
// dim of the k elements that come first, in order. NaN is the largest, -0 equals 0, and among equals the lower position
// comes first in either direction.
struct SortStep {
  bool descending = false;
};

enum class LinalgKind : uint8_t { kCholesky, kLu, kRowOrder, kQr, kEigh, kSvd, kTriangularSolve, kExponential };

// A factorisation of each matrix of a batch, or a solution by it. inputs: a [batch..., m, n], float32 or float64, any
// strides; kTriangularSolve then b [batch..., n, k]. output: [batch..., elements], of a's dtype: the parts of the result,
// row-major, one after the other. Computed in float64.
//   kCholesky         L [n, n] with L L^T = a, of which the lower triangle is read; a code: 0, or the order of the leading
//                     minor that is not positive (L is NaN then)
//   kLu               L and U [m, n] in one, L's diagonal of ones left out; pivots [min(m, n)], from 0: row i was exchanged
//                     with row pivots[i]; a code: 0, or the first zero pivot's place, from 1
//   kRowOrder         of pivots a [m, 1]: where each row comes from after these exchanges [m]
//   kQr               Q [m, q], R [q, n]; q is m if `full`, else min(m, n)
//   kEigh             values [n], ascending; with `vectors` these, [n, n], as columns. Reads the `upper` or lower triangle
//   kSvd              without `vectors` values [k], descending, k = min(m, n); else U [m, u], values, V^T [v, n]; u and v
//                     are m and n if `full`, else k
//   kTriangularSolve  x [n, k] with a x = b, reading the `upper` or lower triangle; `unit`: as if its diagonal were ones
//   kExponential      e^a [n, n]
// `check`: a singular or indefinite matrix, and iterations that do not converge, are the request's error; else NaN tells.
struct LinalgStep {
  LinalgKind kind = LinalgKind::kCholesky;
  bool upper = false, unit = false, full = false, vectors = true, check = false;
};

// What a step does, without its operands. A lowered graph node holds one. Further kinds (fft, mx_matmul) join the variant
// at its end.
using StepBody = std::variant<MapStep, ReduceStep, ScanStep, MatMulStep, ConvStep, AttentionStep, NormStep, ScatterStep,
                              SortStep, LinalgStep>;

enum class StepKind : uint8_t { kMap, kReduce, kScan, kMatMul, kConv, kAttention, kNorm, kScatter, kSort, kLinalg };
inline StepKind KindOf(const StepBody& body) { return static_cast<StepKind>(body.index()); }
std::string_view Name(StepKind kind);

// The epilogue of a kind that may have one (matmul, conv, norm), else null.
const LoopProgram* EpilogueOf(const StepBody& body);
LoopProgram* EpilogueOf(StepBody& body);
// Operands before those that the program or epilogue loads: 2 for matmul, 1 for scatter, say. Map, reduce and scan
// steps: 0.
int FixedInputs(const StepBody& body);

using SlotId = int32_t;

// A strided window into a slot.
struct Operand {
  SlotId slot = -1;
  DType dtype = DType::kInvalid;
  Shape shape;
  Shape strides;  // in elements; 0 repeats
  Dim offset;     // in elements, of element [0, 0, ...]
};

// A step that does nothing itself: by its one input, a bool, it decides about steps that follow it.
struct Control {
  enum class Kind : uint8_t { kNone, kCond, kWhile };
  Kind kind = Kind::kNone;
  // The `first` steps behind it: kCond runs them if the bool is true; kWhile has them compute it, before each round.
  // The `second` steps behind those: kCond runs them if it is false; kWhile as long as it is true.
  int first = 0, second = 0;
};

struct Step {
  std::string name;  // of the node it came from, for people
  StepBody body;     // of no meaning if it is a control step
  std::vector<Operand> inputs;
  std::vector<Operand> outputs;
  Control control = {};

  bool IsControl() const { return control.kind != Control::Kind::kNone; }
};
// "matmul", "cond".
std::string_view KindName(const Step& step);

}  // namespace tondar

#endif  // TONDAR_ENGINE_PLAN_STEP_H_
