// Sums, extrema, moments, norms, scans.
#include <cmath>

#include "engine/ops/families.h"
#include "engine/ops/inference.h"
#include "engine/ops/power_norm.h"
#include "engine/ops/reduction.h"

namespace tondar {
namespace {

using Handle = LoopBuilder::Handle;
using Handles = std::span<const Handle>;

Handle Number(LoopBuilder& b, Handle like, double value) { return b.Constant(value, b.dtype(like)); }

// The dims that the argument "dim" names; none or an empty list means all.
Result<std::vector<size_t>> DimsOf(const Node& node) {
  const Arguments args(node);
  return NormaliseDims(args.Ints("dim"), node.inputs[0]->shape.size(), true);
}

Status SetReduced(Node& node, size_t index, DType dtype) {
  TONDAR_ASSIGN_OR_RETURN(const std::vector<size_t> dims, DimsOf(node));
  SetOutput(node, index, dtype, ReducedShape(node.inputs[0]->shape, dims, Arguments(node).Bool("keepdim")));
  return OkStatus();
}

Result<Reduction> Plan(const Node& node, ReduceOp op, DType accumulator, DType dtype) {
  TONDAR_ASSIGN_OR_RETURN(std::vector<size_t> dims, DimsOf(node));
  Reduction plan{.op = op, .dims = std::move(dims), .keepdim = Arguments(node).Bool("keepdim"),
                 .accumulator = accumulator, .dtype = dtype, .body = nullptr, .finish = nullptr};
  return plan;
}

// --- Sum, product, mean ---------------------------------------------------------------------------------------------

DType SumDType(const Node& node) {
  const DType given = Arguments(node).Type("dtype"), x = node.inputs[0]->dtype;
  if (given != DType::kInvalid) return given;
  return IsInteger(x) || x == DType::kBool ? DType::kInt64 : x;
}

Status InferSum(Node& node) { return SetReduced(node, 0, SumDType(node)); }

template <ReduceOp op>
Status LowerSum(const Node& node, LoweringBuilder& builder) {
  const DType dtype = node.outputs[0]->dtype;
  TONDAR_ASSIGN_OR_RETURN(Reduction plan, Plan(node, op, ComputeDType(dtype), dtype));
  plan.body = [dtype](LoopBuilder& b, Handles x) { return b.Cast(x[0], dtype); };
  builder.Replace(0, EmitReduction(builder, {node.inputs[0]}, plan));
  return OkStatus();
}

Status LowerNanSum(const Node& node, LoweringBuilder& builder) {
  const DType dtype = node.outputs[0]->dtype;
  TONDAR_ASSIGN_OR_RETURN(Reduction plan, Plan(node, ReduceOp::kSum, ComputeDType(dtype), dtype));
  plan.body = [dtype](LoopBuilder& b, Handles x) {
    const Handle value = b.Cast(b.Cast(x[0], dtype), ComputeDType(dtype));
    return IsFloat(dtype) ? b.Select(b.Unary(LoopOp::kIsNan, value), Number(b, value, 0), value) : value;
  };
  builder.Replace(0, EmitReduction(builder, {node.inputs[0]}, plan));
  return OkStatus();
}

Status InferMean(Node& node) {
  const DType given = Arguments(node).Type("dtype");
  const DType dtype = given == DType::kInvalid ? node.inputs[0]->dtype : given;
  if (!IsFloat(dtype)) return InvalidArgument("mean of {}; give a floating dtype", Name(dtype));
  return SetReduced(node, 0, dtype);
}

Handle DivideBy(LoopBuilder& b, Handle sum, const Dim& count) {
  return b.Binary(LoopOp::kDiv, sum, b.Cast(b.Size(count), b.dtype(sum)));
}

Status LowerMean(const Node& node, LoweringBuilder& builder) {
  const DType dtype = node.outputs[0]->dtype;
  TONDAR_ASSIGN_OR_RETURN(Reduction plan, Plan(node, ReduceOp::kSum, ComputeDType(dtype), dtype));
  const Dim count = ReducedCount(node.inputs[0]->shape, plan.dims);
  plan.body = [dtype](LoopBuilder& b, Handles x) { return b.Cast(x[0], dtype); };
  plan.finish = [count](LoopBuilder& b, Handle sum) { return DivideBy(b, sum, count); };
  builder.Replace(0, EmitReduction(builder, {node.inputs[0]}, plan));
  return OkStatus();
}

Status InferCount(Node& node) { return SetReduced(node, 0, DType::kInt64); }

Status LowerCountNonzero(const Node& node, LoweringBuilder& builder) {
  TONDAR_ASSIGN_OR_RETURN(Reduction plan, Plan(node, ReduceOp::kSum, DType::kInt64, DType::kInt64));
  plan.body = [](LoopBuilder& b, Handles x) { return b.Cast(x[0], DType::kBool); };
  builder.Replace(0, EmitReduction(builder, {node.inputs[0]}, plan));
  return OkStatus();
}

// --- Extrema --------------------------------------------------------------------------------------------------------

Status RefuseEmpty(const Node& node) {
  TONDAR_ASSIGN_OR_RETURN(const std::vector<size_t> dims, DimsOf(node));
  if (ReducedCount(node.inputs[0]->shape, dims).Is(0)) return InvalidArgument("no elements to reduce");
  return OkStatus();
}

Status InferExtremum(Node& node) {
  TONDAR_RETURN_IF_ERROR(RefuseEmpty(node));
  return SetReduced(node, 0, node.inputs[0]->dtype);
}

template <ReduceOp op>
Result<Value*> Extremum(const Node& node, LoweringBuilder& builder) {
  const DType dtype = node.inputs[0]->dtype;
  const bool boolean = dtype == DType::kBool;
  const ReduceOp logic = op == ReduceOp::kMax ? ReduceOp::kAny : ReduceOp::kAll;
  TONDAR_ASSIGN_OR_RETURN(const Reduction plan, Plan(node, boolean ? logic : op, ComputeDType(dtype), dtype));
  return EmitReduction(builder, {node.inputs[0]}, plan);
}

template <ReduceOp op>
Result<Value*> Position(const Node& node, LoweringBuilder& builder) {
  const DType dtype = node.inputs[0]->dtype == DType::kBool ? DType::kInt32 : ComputeDType(node.inputs[0]->dtype);
  TONDAR_ASSIGN_OR_RETURN(const Reduction plan, Plan(node, op, dtype, DType::kInt64));
  return EmitReduction(builder, {node.inputs[0]}, plan);
}

template <ReduceOp op>
Status LowerExtremum(const Node& node, LoweringBuilder& builder) {
  TONDAR_ASSIGN_OR_RETURN(Value * value, Extremum<op>(node, builder));
  builder.Replace(0, value);
  return OkStatus();
}

Status InferPosition(Node& node) {
  TONDAR_RETURN_IF_ERROR(RefuseEmpty(node));
  return SetReduced(node, 0, DType::kInt64);
}

template <ReduceOp op>
Status LowerPosition(const Node& node, LoweringBuilder& builder) {
  TONDAR_ASSIGN_OR_RETURN(Value * value, Position<op>(node, builder));
  builder.Replace(0, value);
  return OkStatus();
}

Status InferExtremumWithPosition(Node& node) {
  TONDAR_RETURN_IF_ERROR(InferExtremum(node));
  return SetReduced(node, 1, DType::kInt64);
}

template <ReduceOp op, ReduceOp position>
Status LowerExtremumWithPosition(const Node& node, LoweringBuilder& builder) {
  TONDAR_RETURN_IF_ERROR(LowerExtremum<op>(node, builder));
  TONDAR_ASSIGN_OR_RETURN(Value * where, Position<position>(node, builder));
  builder.Replace(1, where);
  return OkStatus();
}

Status InferAminmax(Node& node) {
  TONDAR_RETURN_IF_ERROR(InferExtremum(node));
  return SetReduced(node, 1, node.inputs[0]->dtype);
}

Status LowerAminmax(const Node& node, LoweringBuilder& builder) {
  TONDAR_RETURN_IF_ERROR(LowerExtremum<ReduceOp::kMin>(node, builder));
  TONDAR_ASSIGN_OR_RETURN(Value * largest, Extremum<ReduceOp::kMax>(node, builder));
  builder.Replace(1, largest);
  return OkStatus();
}

// --- Logic ----------------------------------------------------------------------------------------------------------

// An empty list of dims reduces nothing here, where sums take it for all dims.
bool ReducesNothing(const Node& node) {
  const Arguments args(node);
  return !args.IsNone("dim") && args.Sizes("dim").empty();
}

Status InferLogic(Node& node) {
  const Value* x = node.inputs[0];
  const DType dtype = x->dtype == DType::kUInt8 ? DType::kUInt8 : DType::kBool;
  if (!ReducesNothing(node)) return SetReduced(node, 0, dtype);
  SetOutput(node, 0, dtype, x->shape);
  return OkStatus();
}

template <ReduceOp op>
Status LowerLogic(const Node& node, LoweringBuilder& builder) {
  if (ReducesNothing(node)) {
    builder.Replace(0, builder.Cast(builder.Cast(node.inputs[0], DType::kBool), node.outputs[0]->dtype));
    return OkStatus();
  }
  TONDAR_ASSIGN_OR_RETURN(const Reduction plan, Plan(node, op, DType::kBool, node.outputs[0]->dtype));
  builder.Replace(0, EmitReduction(builder, {node.inputs[0]}, plan));
  return OkStatus();
}

// --- Moments --------------------------------------------------------------------------------------------------------

// Correction 1 unless the form says otherwise.
double CorrectionOf(const Arguments& args) { return args.IsNone("correction") ? 1 : args.Number("correction"); }

Status UnbiasedToCorrection(Node& node, const Attributes& arguments) {
  const auto unbiased = arguments.find("unbiased");
  const bool* on = unbiased == arguments.end() ? nullptr : std::get_if<bool>(&unbiased->second);
  node.attributes["correction"] = Dim(on == nullptr || *on ? 1 : 0);
  return OkStatus();
}

Status InferMoment(Node& node) {
  if (!IsFloat(node.inputs[0]->dtype)) return InvalidArgument("moments of {}", Name(node.inputs[0]->dtype));
  return SetReduced(node, 0, node.inputs[0]->dtype);
}

Status InferMoments(Node& node) {
  TONDAR_RETURN_IF_ERROR(InferMoment(node));
  return SetReduced(node, 1, node.inputs[0]->dtype);
}

struct Moments {
  Value* mean = nullptr;    // keepdim, in the compute dtype
  Value* spread = nullptr;  // variance, or its root, as the node wants it
};

Result<Moments> EmitMoments(const Node& node, LoweringBuilder& builder, bool root) {
  Value* x = node.inputs[0];
  const DType compute = ComputeDType(x->dtype);
  TONDAR_ASSIGN_OR_RETURN(Reduction plan, Plan(node, ReduceOp::kSum, compute, compute));
  const Dim count = ReducedCount(x->shape, plan.dims);
  const double correction = CorrectionOf(Arguments(node));
  Reduction mean = plan;
  mean.keepdim = true;
  mean.finish = [count](LoopBuilder& b, Handle sum) { return DivideBy(b, sum, count); };
  Moments moments;
  moments.mean = EmitReduction(builder, {x}, mean);
  plan.dtype = x->dtype;
  plan.body = [compute](LoopBuilder& b, Handles loads) {
    const Handle distance = b.Binary(LoopOp::kSub, b.Cast(loads[0], compute), loads[1]);
    return b.Binary(LoopOp::kMul, distance, distance);
  };
  plan.finish = [=](LoopBuilder& b, Handle sum) {
    Handle freedom = b.Binary(LoopOp::kSub, b.Cast(b.Size(count), compute), b.Constant(correction, compute));
    freedom = b.Binary(LoopOp::kMax, freedom, b.Constant(0, compute));
    const Handle variance = b.Binary(LoopOp::kDiv, sum, freedom);
    return root ? b.Unary(LoopOp::kSqrt, variance) : variance;
  };
  moments.spread = EmitReduction(builder, {x, moments.mean}, plan);
  return moments;
}

template <bool root>
Status LowerMoment(const Node& node, LoweringBuilder& builder) {
  TONDAR_ASSIGN_OR_RETURN(const Moments moments, EmitMoments(node, builder, root));
  builder.Replace(0, moments.spread);
  return OkStatus();
}

template <bool root>
Status LowerMoments(const Node& node, LoweringBuilder& builder) {
  TONDAR_ASSIGN_OR_RETURN(const Moments moments, EmitMoments(node, builder, root));
  builder.Replace(0, moments.spread);
  builder.Replace(1, builder.Reshape(builder.Cast(moments.mean, node.outputs[1]->dtype), node.outputs[1]->shape));
  return OkStatus();
}

// --- Norms ----------------------------------------------------------------------------------------------------------

Status InferFloatReduction(Node& node) { return SetReduced(node, 0, ToFloating(node.inputs[0]->dtype)); }

// log(sum(exp(x - m))) + m with m the largest, or 0 where that is infinite.
Status LowerLogSumExp(const Node& node, LoweringBuilder& builder) {
  const DType dtype = node.outputs[0]->dtype, compute = ComputeDType(dtype);
  Value* x = node.inputs[0];
  TONDAR_ASSIGN_OR_RETURN(Reduction largest, Plan(node, ReduceOp::kMax, compute, compute));
  largest.keepdim = true;
  largest.finish = [](LoopBuilder& b, Handle m) { return b.Select(b.Unary(LoopOp::kIsInf, m), Number(b, m, 0), m); };
  Value* m = EmitReduction(builder, {x}, largest);
  TONDAR_ASSIGN_OR_RETURN(Reduction sum, Plan(node, ReduceOp::kSum, compute, compute));
  sum.body = [compute](LoopBuilder& b, Handles loads) {
    return b.Unary(LoopOp::kExp, b.Binary(LoopOp::kSub, b.Cast(loads[0], compute), loads[1]));
  };
  sum.finish = [](LoopBuilder& b, Handle total) { return b.Unary(LoopOp::kLog, total); };
  Value* log = EmitReduction(builder, {x, m}, sum);
  builder.Replace(0, builder.Map({log, builder.Reshape(m, log->shape)}, [dtype](LoopBuilder& b, Handles loads) {
    return b.Cast(b.Binary(LoopOp::kAdd, loads[0], loads[1]), dtype);
  }));
  return OkStatus();
}

Status InferNorm(Node& node) {
  const DType given = Arguments(node).Type("dtype"), x = node.inputs[0]->dtype;
  if (!IsFloat(x)) return InvalidArgument("norm of {}", Name(x));
  return SetReduced(node, 0, given == DType::kInvalid ? x : given);
}

Status LowerNorm(const Node& node, LoweringBuilder& builder) {
  const DType dtype = node.outputs[0]->dtype, compute = ComputeDType(dtype);
  const double p = Arguments(node).IsNone("ord") ? 2 : Arguments(node).Number("ord");
  const PowerNorm norm(p);
  TONDAR_ASSIGN_OR_RETURN(Reduction plan, Plan(node, norm.op(), compute, dtype));
  plan.body = [&](LoopBuilder& b, Handles loads) { return norm.Term(b, b.Cast(loads[0], compute)); };
  plan.finish = [&](LoopBuilder& b, Handle total) { return norm.Root(b, total); };
  builder.Replace(0, EmitReduction(builder, {node.inputs[0]}, plan));
  return OkStatus();
}

// --- Scans ----------------------------------------------------------------------------------------------------------

Status InferScan(Node& node) {
  TONDAR_RETURN_IF_ERROR(NormaliseDim(Arguments(node).Int("dim"), node.inputs[0]->shape.size()).status());
  SetOutput(node, 0, SumDType(node), node.inputs[0]->shape);
  return OkStatus();
}

template <ReduceOp op>
Status LowerScan(const Node& node, LoweringBuilder& builder) {
  const DType dtype = node.outputs[0]->dtype;
  Value* x = builder.Cast(node.inputs[0], dtype);
  if (x->shape.empty()) {
    builder.Replace(0, x);
    return OkStatus();
  }
  const int64_t dim = Arguments(node).Int("dim");
  Value* last = builder.Transpose(x, dim, -1);
  LoopBuilder b;
  const int rank = static_cast<int>(last->shape.size());
  b.Result(b.Cast(b.Load(BroadcastAccess(0, last->shape, rank), dtype), ComputeDType(dtype)));
  ScanStep step{.extents = last->shape, .op = op, .accumulator = ComputeDType(dtype), .program = std::move(b).Build()};
  builder.Replace(0, builder.Transpose(builder.Step(std::move(step), {last}, last->shape, dtype), dim, -1));
  return OkStatus();
}

OpSchema Row(std::string name, std::vector<SourceForm> sources, Status (*infer)(Node&),
             Status (*lower)(const Node&, LoweringBuilder&), std::string signature, int results = 1) {
  OpSchema schema{.name = std::move(name), .sources = std::move(sources), .signature = std::move(signature)};
  schema.results = results;
  schema.infer = infer;
  schema.lower = lower;
  return schema;
}

constexpr char kAll[] = "(Tensor self)";
constexpr char kDims[] = "(Tensor self, int[]? dim=None, bool keepdim=False)";
constexpr char kOneDim[] = "(Tensor self, int dim, bool keepdim=False)";
constexpr char kTyped[] = "(Tensor self, int[]? dim=None, bool keepdim=False, *, ScalarType? dtype=None)";
constexpr char kAllTyped[] = "(Tensor self, *, ScalarType? dtype=None)";
constexpr char kMoment[] = "(Tensor self, int[]? dim=None, *, Scalar? correction=None, bool keepdim=False)";
constexpr char kScan[] = "(Tensor self, int dim, *, ScalarType? dtype=None)";

std::vector<SourceForm> MomentSources(const std::string& name) {
  return {{"aten." + name + ".correction", kMoment},
          {"aten." + name + ".dim", "(Tensor self, int[]? dim, bool unbiased=True, bool keepdim=False)", {}, UnbiasedToCorrection},
          {"aten." + name + ".default", "(Tensor self, bool unbiased=True)", {}, UnbiasedToCorrection}};
}

std::vector<SourceForm> LogicSources(const std::string& name) {
  return {{"aten." + name + ".dims", kDims}, {"aten." + name + ".dim", kOneDim}, {"aten." + name + ".default", kAll}};
}

}  // namespace

std::vector<OpSchema> ReductionOps() {
  return {
      Row("sum", {{"aten.sum.dim_IntList", kTyped}, {"aten.sum.default", kAllTyped}}, InferSum, LowerSum<ReduceOp::kSum>,
          kTyped),
      Row("nansum", {{"aten.nansum.default", kTyped}}, InferSum, LowerNanSum, kTyped),
      Row("prod",
          {{"aten.prod.dim_int", "(Tensor self, int dim, bool keepdim=False, *, ScalarType? dtype=None)"},
           {"aten.prod.default", kAllTyped}},
          InferSum, LowerSum<ReduceOp::kProduct>, kTyped),
      Row("mean", {{"aten.mean.dim", kTyped}, {"aten.mean.default", kAllTyped}}, InferMean, LowerMean, kTyped),
      Row("count_nonzero",
          {{"aten.count_nonzero.dim_IntList", "(Tensor self, int[] dim)"},
           {"aten.count_nonzero.default", "(Tensor self, int? dim=None)"}},
          InferCount, LowerCountNonzero, kDims),
      Row("amax", {{"aten.amax.default", "(Tensor self, int[] dim=[], bool keepdim=False)"}, {"aten.max.default", kAll}},
          InferExtremum, LowerExtremum<ReduceOp::kMax>, kDims),
      Row("amin", {{"aten.amin.default", "(Tensor self, int[] dim=[], bool keepdim=False)"}, {"aten.min.default", kAll}},
          InferExtremum, LowerExtremum<ReduceOp::kMin>, kDims),
      Row("max_dim", {{"aten.max.dim", kOneDim}}, InferExtremumWithPosition,
          LowerExtremumWithPosition<ReduceOp::kMax, ReduceOp::kArgMax>, kOneDim, 2),
      Row("min_dim", {{"aten.min.dim", kOneDim}}, InferExtremumWithPosition,
          LowerExtremumWithPosition<ReduceOp::kMin, ReduceOp::kArgMin>, kOneDim, 2),
      Row("aminmax", {{"aten.aminmax.default", "(Tensor self, *, int? dim=None, bool keepdim=False)"}}, InferAminmax,
          LowerAminmax, kDims, 2),
      Row("argmax", {{"aten.argmax.default", "(Tensor self, int? dim=None, bool keepdim=False)"}}, InferPosition,
          LowerPosition<ReduceOp::kArgMax>, kDims),
      Row("argmin", {{"aten.argmin.default", "(Tensor self, int? dim=None, bool keepdim=False)"}}, InferPosition,
          LowerPosition<ReduceOp::kArgMin>, kDims),
      Row("any", LogicSources("any"), InferLogic, LowerLogic<ReduceOp::kAny>, kDims),
      Row("all", LogicSources("all"), InferLogic, LowerLogic<ReduceOp::kAll>, kDims),
      Row("var", MomentSources("var"), InferMoment, LowerMoment<false>, kMoment),
      Row("std", MomentSources("std"), InferMoment, LowerMoment<true>, kMoment),
      Row("var_mean", MomentSources("var_mean"), InferMoments, LowerMoments<false>, kMoment, 2),
      Row("std_mean", MomentSources("std_mean"), InferMoments, LowerMoments<true>, kMoment, 2),
      Row("logsumexp", {{"aten.logsumexp.default", "(Tensor self, int[] dim, bool keepdim=False)"}}, InferFloatReduction,
          LowerLogSumExp, kDims),
      Row("vector_norm",
          {{"aten.linalg_vector_norm.default",
            "(Tensor self, Scalar ord=2, int[]? dim=None, bool keepdim=False, *, ScalarType? dtype=None)"},
           {"aten.norm.ScalarOpt_dim", "(Tensor self, Scalar? p, int[] dim, bool keepdim=False)", {{"p", "ord"}}},
           {"aten.norm.Scalar", "(Tensor self, Scalar p=2)", {{"p", "ord"}}},
           {"aten.norm.ScalarOpt_dim_dtype",
            "(Tensor self, Scalar? p, int[] dim, bool keepdim, *, ScalarType dtype)", {{"p", "ord"}}}},
          InferNorm, LowerNorm,
          "(Tensor self, Scalar? ord=2, int[]? dim=None, bool keepdim=False, *, ScalarType? dtype=None)"),
      Row("cumsum", {{"aten.cumsum.default", kScan}}, InferScan, LowerScan<ReduceOp::kSum>, kScan),
      Row("cumprod", {{"aten.cumprod.default", kScan}}, InferScan, LowerScan<ReduceOp::kProduct>, kScan),
  };
}

}  // namespace tondar
