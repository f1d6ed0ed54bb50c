// Products over named dims: einsum, tensordot; and kron and cross.
#include <algorithm>
#include <map>

#include "engine/ops/families.h"
#include "engine/ops/inference.h"
#include "engine/ops/lowering.h"
#include "engine/ops/pointwise.h"

namespace tondar {
namespace {

using Handle = LoopBuilder::Handle;

int64_t Signed(size_t d) { return static_cast<int64_t>(d); }

// --- Einsum ---------------------------------------------------------------------------------------------------------

// Dims by label. Letters label themselves; the dims of an ellipsis get labels from kEllipsis on, aligned at its end.
using Labels = std::vector<int>;
constexpr int kEllipsis = 256;

struct Equation {
  std::vector<Labels> operands;
  Labels result;
};

// The labels of one operand of `rank` dims, or of the result (rank -1: as many as `ellipsis` says).
Result<Labels> ReadTerm(std::string_view term, int rank, int ellipsis) {
  const size_t dots = term.find("...");
  int letters = 0;
  for (char c : term) letters += std::isalpha(static_cast<unsigned char>(c)) ? 1 : 0;
  if (dots == std::string_view::npos && rank >= 0 && letters != rank) return InvalidArgument("'{}' for a tensor of rank {}", term, rank);
  const int covered = dots == std::string_view::npos ? 0 : rank < 0 ? ellipsis : rank - letters;
  if (covered < 0) return InvalidArgument("'{}' for a tensor of rank {}", term, rank);
  Labels labels;
  for (size_t i = 0; i < term.size(); ++i) {
    if (i == dots) {
      for (int d = 0; d < covered; ++d) labels.push_back(kEllipsis + kMaxRank - covered + d);
      i += 2;
    } else if (std::isalpha(static_cast<unsigned char>(term[i]))) {
      labels.push_back(term[i]);
    } else {
      return InvalidArgument("'{}' in the term '{}'", term[i], term);
    }
  }
  return labels;
}

// Without an arrow: the ellipsis, then the letters that occur once, in alphabetic order.
Labels ImplicitResult(const std::vector<Labels>& operands) {
  std::map<int, int> counts;
  for (const Labels& labels : operands) {
    for (int label : labels) ++counts[label];
  }
  Labels result;
  for (bool letters : {false, true}) {
    for (const auto& [label, count] : counts) {
      if ((label < kEllipsis) == letters && (count == 1 || !letters)) result.push_back(label);
    }
  }
  return result;
}

Result<Equation> ReadEquation(std::string text, const std::vector<Value*>& tensors) {
  std::erase(text, ' ');
  const size_t arrow = text.find("->");
  std::string_view left = std::string_view(text).substr(0, arrow);
  Equation equation;
  int ellipsis = 0;
  for (size_t i = 0; i < tensors.size(); ++i) {
    const size_t comma = left.find(',');
    if ((comma == std::string_view::npos) != (i + 1 == tensors.size())) return InvalidArgument("'{}' for {} tensors", text, tensors.size());
    const std::string_view term = left.substr(0, comma);
    TONDAR_ASSIGN_OR_RETURN(Labels labels, ReadTerm(term, static_cast<int>(tensors[i]->shape.size()), 0));
    const auto dots = std::count_if(labels.begin(), labels.end(), [](int label) { return label >= kEllipsis; });
    ellipsis = std::max(ellipsis, static_cast<int>(dots));
    equation.operands.push_back(std::move(labels));
    left.remove_prefix(comma == std::string_view::npos ? left.size() : comma + 1);
  }
  if (arrow == std::string::npos) {
    equation.result = ImplicitResult(equation.operands);
    return equation;
  }
  TONDAR_ASSIGN_OR_RETURN(equation.result, ReadTerm(std::string_view(text).substr(arrow + 2), -1, ellipsis));
  return equation;
}

// The extent of every label; an extent of 1 broadcasts.
Result<std::map<int, Dim>> ExtentsOf(Node& node, const Equation& equation, const std::vector<Value*>& tensors) {
  std::map<int, Dim> extents;
  for (size_t i = 0; i < tensors.size(); ++i) {
    for (size_t d = 0; d < equation.operands[i].size(); ++d) {
      const auto [known, is_new] = extents.emplace(equation.operands[i][d], tensors[i]->shape[d]);
      if (is_new || tensors[i]->shape[d].Is(1)) continue;
      if (known->second.Is(1)) known->second = tensors[i]->shape[d];
      TONDAR_RETURN_IF_ERROR(AssumeEqual(node, known->second, tensors[i]->shape[d], "einsum"));
    }
  }
  return extents;
}

Status InferEinsum(Node& node) {
  const Arguments args(node);
  const std::vector<Value*> tensors = args.Tensors("tensors");
  if (tensors.empty()) return InvalidArgument("no tensors");
  TONDAR_ASSIGN_OR_RETURN(const Equation equation, ReadEquation(args.String("equation"), tensors));
  TONDAR_ASSIGN_OR_RETURN(const auto extents, ExtentsOf(node, equation, tensors));
  std::vector<PromotionOperand> operands;
  for (const Value* tensor : tensors) operands.push_back({tensor, nullptr});
  Shape shape;
  for (int label : equation.result) {
    const auto extent = extents.find(label);
    if (extent == extents.end()) return InvalidArgument("'{}' is in the result alone", static_cast<char>(label));
    shape.push_back(extent->second);
  }
  SetOutput(node, 0, ResultType(operands), std::move(shape));
  return OkStatus();
}

// A tensor whose dims are labelled, each label once.
struct Labelled {
  Value* value;
  Labels labels;

  bool Has(int label) const { return std::find(labels.begin(), labels.end(), label) != labels.end(); }
};

class Contraction {
 public:
  Contraction(LoweringBuilder& builder, std::map<int, Dim> extents) : builder_(builder), extents_(std::move(extents)) {}

  Result<Value*> Run(std::vector<Labelled> operands, const Labels& result) {
    for (Labelled& operand : operands) TONDAR_RETURN_IF_ERROR(TakeDiagonals(operand));
    while (operands.size() > 1) {
      Labels needed = result;
      for (size_t i = 2; i < operands.size(); ++i) needed.insert(needed.end(), operands[i].labels.begin(), operands[i].labels.end());
      TONDAR_ASSIGN_OR_RETURN(operands[1], Multiply(operands[0], operands[1], needed));
      operands.erase(operands.begin());
    }
    TONDAR_ASSIGN_OR_RETURN(const Labelled only, SumUnless(operands[0], [&](int label) { return IsIn(result, label); }));
    return Arrange(only, result, true);
  }

 private:
  static bool IsIn(const Labels& labels, int label) { return std::find(labels.begin(), labels.end(), label) != labels.end(); }

  Status TakeDiagonals(Labelled& x) {
    for (size_t d = 0; d < x.labels.size(); ++d) {
      const auto again = std::find(x.labels.begin() + Signed(d) + 1, x.labels.end(), x.labels[d]);
      if (again == x.labels.end()) continue;
      const int64_t other = again - x.labels.begin();
      TONDAR_ASSIGN_OR_RETURN(x.value, builder_.Op("diagonal", {x.value}, {{"offset", Dim(0)}, {"dim1", Dim(Signed(d))}, {"dim2", Dim(other)}}));
      const int label = x.labels[d];
      x.labels.erase(again);
      x.labels.erase(x.labels.begin() + Signed(d));
      x.labels.push_back(label);
      return TakeDiagonals(x);
    }
    return OkStatus();
  }

  template <typename Keep>
  Result<Labelled> SumUnless(Labelled x, const Keep& keep) {
    Shape dims;
    Labels kept;
    for (size_t d = 0; d < x.labels.size(); ++d) {
      if (keep(x.labels[d])) {
        kept.push_back(x.labels[d]);
      } else {
        dims.push_back(Dim(Signed(d)));
      }
    }
    if (dims.empty()) return x;
    TONDAR_ASSIGN_OR_RETURN(x.value, builder_.Op("sum", {x.value}, {{"dim", dims}, {"dtype", x.value->dtype}}));
    return Labelled{x.value, kept};
  }

  // x with dims in the order of `labels`; missing ones have extent 1, or their whole extent if `expand`.
  Value* Arrange(const Labelled& x, const Labels& labels, bool expand) {
    std::vector<int64_t> dims;
    Shape shape, whole;
    for (int label : labels) {
      const auto at = std::find(x.labels.begin(), x.labels.end(), label);
      shape.push_back(at == x.labels.end() ? Dim(1) : x.value->shape[static_cast<size_t>(at - x.labels.begin())]);
      whole.push_back(extents_.at(label));
      if (at != x.labels.end()) dims.push_back(at - x.labels.begin());
    }
    Value* arranged = builder_.Reshape(builder_.Permute(x.value, dims), shape);
    return expand ? builder_.Expand(arranged, whole) : arranged;
  }

  Dim Count(const Labels& labels) const {
    Dim count(1);
    for (int label : labels) count = count * extents_.at(label);
    return count;
  }

  // Sums over what only these two have: [batch..., left, inner] x [batch..., inner, right].
  Result<Labelled> Multiply(Labelled a, Labelled b, const Labels& needed) {
    TONDAR_ASSIGN_OR_RETURN(a, SumUnless(a, [&](int label) { return IsIn(needed, label) || b.Has(label); }));
    TONDAR_ASSIGN_OR_RETURN(b, SumUnless(b, [&](int label) { return IsIn(needed, label) || a.Has(label); }));
    Labels batch, inner, left, right;
    for (int label : a.labels) (!b.Has(label) ? left : IsIn(needed, label) ? batch : inner).push_back(label);
    for (int label : b.labels) {
      if (!a.Has(label)) right.push_back(label);
    }
    const auto join = [](std::initializer_list<const Labels*> parts) {
      Labels joined;
      for (const Labels* part : parts) joined.insert(joined.end(), part->begin(), part->end());
      return joined;
    };
    const Shape folded_a = {Count(batch), Count(left), Count(inner)}, folded_b = {Count(batch), Count(inner), Count(right)};
    Value* x = builder_.Reshape(Arrange(a, join({&batch, &left, &inner}), true), folded_a);
    Value* y = builder_.Reshape(Arrange(b, join({&batch, &inner, &right}), true), folded_b);
    TONDAR_ASSIGN_OR_RETURN(Value * product, builder_.Op("matmul", {x, y}));
    const Labels labels = join({&batch, &left, &right});
    Shape shape;
    for (int label : labels) shape.push_back(extents_.at(label));
    return Labelled{builder_.Reshape(product, shape), labels};
  }

  LoweringBuilder& builder_;
  const std::map<int, Dim> extents_;
};

Status LowerEinsum(const Node& node, LoweringBuilder& builder) {
  const Arguments args(node);
  const std::vector<Value*> tensors = args.Tensors("tensors");
  TONDAR_ASSIGN_OR_RETURN(const Equation equation, ReadEquation(args.String("equation"), tensors));
  TONDAR_ASSIGN_OR_RETURN(auto extents, ExtentsOf(const_cast<Node&>(node), equation, tensors));
  std::vector<Labelled> operands;
  for (size_t i = 0; i < tensors.size(); ++i) {
    operands.push_back({builder.Cast(tensors[i], node.outputs[0]->dtype), equation.operands[i]});
  }
  TONDAR_ASSIGN_OR_RETURN(Value * result, Contraction(builder, std::move(extents)).Run(std::move(operands), equation.result));
  builder.Replace(0, result);
  return OkStatus();
}

// --- tensordot ------------------------------------------------------------------------------------------------------

// The labels 0, 1, ... of both operands' dims, contracted ones having one label.
Result<Equation> DotEquation(const Node& node) {
  const Arguments args(node);
  const Value *a = args.Tensor("self"), *b = args.Tensor("other");
  const std::vector<int64_t> dims_a = args.Ints("dims_self"), dims_b = args.Ints("dims_other");
  if (dims_a.size() != dims_b.size()) return InvalidArgument("{} dims of self, {} of other", dims_a.size(), dims_b.size());
  const int rank = static_cast<int>(a->shape.size());
  Equation equation{{Labels(a->shape.size()), Labels(b->shape.size())}, {}};
  for (int d = 0; d < rank; ++d) equation.operands[0][static_cast<size_t>(d)] = d;
  for (size_t d = 0; d < b->shape.size(); ++d) equation.operands[1][d] = rank + static_cast<int>(d);
  for (size_t i = 0; i < dims_a.size(); ++i) {
    TONDAR_ASSIGN_OR_RETURN(const size_t at, NormaliseDim(dims_a[i], a->shape.size()));
    TONDAR_ASSIGN_OR_RETURN(const size_t bt, NormaliseDim(dims_b[i], b->shape.size()));
    equation.operands[1][bt] = static_cast<int>(at);
  }
  for (const Labels& labels : equation.operands) {
    for (int label : labels) {
      const bool shared = label < rank && std::count(equation.operands[1].begin(), equation.operands[1].end(), label) > 0;
      if (!shared) equation.result.push_back(label);
    }
  }
  return equation;
}

Status InferTensordot(Node& node) {
  TONDAR_ASSIGN_OR_RETURN(const Equation equation, DotEquation(node));
  TONDAR_ASSIGN_OR_RETURN(const auto extents, ExtentsOf(node, equation, node.inputs));
  Shape shape;
  for (int label : equation.result) shape.push_back(extents.at(label));
  if (node.inputs[0]->dtype != node.inputs[1]->dtype) {
    return InvalidArgument("{} and {}", Name(node.inputs[0]->dtype), Name(node.inputs[1]->dtype));
  }
  SetOutput(node, 0, node.inputs[0]->dtype, std::move(shape));
  return OkStatus();
}

Status LowerTensordot(const Node& node, LoweringBuilder& builder) {
  TONDAR_ASSIGN_OR_RETURN(const Equation equation, DotEquation(node));
  TONDAR_ASSIGN_OR_RETURN(auto extents, ExtentsOf(const_cast<Node&>(node), equation, node.inputs));
  std::vector<Labelled> operands;
  for (size_t i = 0; i < 2; ++i) operands.push_back({node.inputs[i], equation.operands[i]});
  TONDAR_ASSIGN_OR_RETURN(Value * result, Contraction(builder, std::move(extents)).Run(std::move(operands), equation.result));
  builder.Replace(0, result);
  return OkStatus();
}

// --- kron, cross ----------------------------------------------------------------------------------------------------

DType PairDType(const Node& node) { return ResultType({{node.inputs[0], nullptr}, {node.inputs[1], nullptr}}); }

Value* Product(LoweringBuilder& builder, Value* a, Value* b, DType dtype) {
  return builder.Map({a, b}, [dtype](LoopBuilder& l, std::span<const Handle> x) {
    const DType compute = ComputeDType(dtype);
    return l.Cast(Binary(l, LoopOp::kMul, l.Cast(x[0], compute), l.Cast(x[1], compute)), dtype);
  });
}

// Both shapes at the higher rank.
std::pair<Shape, Shape> SameRank(const Shape& a, const Shape& b) {
  const size_t rank = std::max(a.size(), b.size());
  const auto wide = [rank](const Shape& shape) {
    Shape result(rank - shape.size(), Dim(1));
    result.insert(result.end(), shape.begin(), shape.end());
    return result;
  };
  return {wide(a), wide(b)};
}

Status InferKron(Node& node) {
  const auto [a, b] = SameRank(node.inputs[0]->shape, node.inputs[1]->shape);
  if (2 * a.size() > static_cast<size_t>(kMaxRank)) return Unimplemented("kron of rank {}", a.size());
  Shape shape;
  for (size_t d = 0; d < a.size(); ++d) shape.push_back(a[d] * b[d]);
  SetOutput(node, 0, PairDType(node), std::move(shape));
  return OkStatus();
}

Status LowerKron(const Node& node, LoweringBuilder& builder) {
  const auto [a, b] = SameRank(node.inputs[0]->shape, node.inputs[1]->shape);
  Shape spread_a, spread_b;
  for (size_t d = 0; d < a.size(); ++d) {
    spread_a.insert(spread_a.end(), {a[d], Dim(1)});
    spread_b.insert(spread_b.end(), {Dim(1), b[d]});
  }
  Value* product = Product(builder, builder.Reshape(node.inputs[0], spread_a), builder.Reshape(node.inputs[1], spread_b), node.outputs[0]->dtype);
  builder.Replace(0, builder.Reshape(product, node.outputs[0]->shape));
  return OkStatus();
}

// The dim of the three components: the given one, or the first of extent 3.
Result<size_t> CrossDim(const Node& node, const Shape& shape) {
  const Arguments args(node);
  if (!args.IsNone("dim")) return NormaliseDim(args.Int("dim"), shape.size());
  for (size_t d = 0; d < shape.size(); ++d) {
    if (shape[d].Is(3)) return d;
  }
  if (!IsConstant(shape)) return Unimplemented("the dim of a cross product is chosen by a dynamic extent");
  return InvalidArgument("no dim of extent 3 in {}", ToString(shape));
}

Status InferCross(Node& node) {
  TONDAR_ASSIGN_OR_RETURN(Shape shape, BroadcastAll(node, {node.inputs[0]->shape, node.inputs[1]->shape}));
  TONDAR_ASSIGN_OR_RETURN(const size_t d, CrossDim(node, shape));
  if (shape.empty()) return InvalidArgument("0-d tensors");
  TONDAR_RETURN_IF_ERROR(AssumeEqual(node, shape[d], Dim(3), "the components of a cross product"));
  shape[d] = Dim(3);
  SetOutput(node, 0, PairDType(node), std::move(shape));
  return OkStatus();
}

Status LowerCross(const Node& node, LoweringBuilder& builder) {
  const Shape& shape = node.outputs[0]->shape;
  const DType dtype = node.outputs[0]->dtype;
  const size_t d = *CrossDim(node, shape);
  std::vector<Value*> parts;
  for (int64_t i = 0; i < 3; ++i) {
    const auto component = [&](size_t operand, int64_t which) {
      return builder.Slice(builder.Expand(node.inputs[operand], shape), Signed(d), Dim(which % 3), Dim(1));
    };
    Value* plus = Product(builder, component(0, i + 1), component(1, i + 2), ComputeDType(dtype));
    Value* minus = Product(builder, component(0, i + 2), component(1, i + 1), ComputeDType(dtype));
    parts.push_back(builder.Map({plus, minus}, [dtype](LoopBuilder& b, std::span<const Handle> x) {
      return b.Cast(b.Binary(LoopOp::kSub, x[0], x[1]), dtype);
    }));
  }
  builder.Replace(0, builder.Concat(parts, Signed(d)));
  return OkStatus();
}

OpSchema Row(std::string name, std::vector<SourceForm> sources, Status (*infer)(Node&),
             Status (*lower)(const Node&, LoweringBuilder&), std::string signature) {
  OpSchema schema{.name = std::move(name), .sources = std::move(sources), .signature = std::move(signature)};
  schema.infer = infer;
  schema.lower = lower;
  return schema;
}

}  // namespace

std::vector<OpSchema> ContractionOps() {
  const std::string dot = "(Tensor self, Tensor other, int[] dims_self, int[] dims_other)", pair = "(Tensor self, Tensor other)";
  return {
      Row("einsum", {{"aten.einsum.default", "(str equation, Tensor[] tensors, *, int[]? path=None)"}}, InferEinsum, LowerEinsum,
          "(str equation, Tensor[] tensors)"),
      Row("tensordot", {{"aten.tensordot.default", dot}}, InferTensordot, LowerTensordot, dot),
      Row("kron", {{"aten.kron.default", pair}}, InferKron, LowerKron, pair),
      Row("cross",
          {{"aten.linalg_cross.default", "(Tensor self, Tensor other, *, int dim=-1)"},
           {"aten.cross.default", "(Tensor self, Tensor other, int? dim=None)"}},
          InferCross, LowerCross, "(Tensor self, Tensor other, int? dim=None)"),
  };
}

}  // namespace tondar
