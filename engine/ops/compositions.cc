// Operators that only spell others: how each is composed is all there is to say, and its shape follows from that.
#include <algorithm>

#include "engine/ops/families.h"
#include "engine/ops/inference.h"
#include "engine/ops/lowering.h"
#include "engine/ops/pointwise.h"

namespace tondar {
namespace {

using Handle = LoopBuilder::Handle;
using Values = Result<std::vector<Value*>>;

// The parts' maker: operators by name, as they stand in the graph before lowering.
class Composer {
 public:
  Composer(const Node& node, LoweringBuilder& builder) : builder(builder), args(node), node_(const_cast<Node&>(node)) {}

  Result<Value*> Op(std::string_view op, std::vector<Value*> inputs, Attributes attributes = {}) {
    return builder.Op(op, std::move(inputs), std::move(attributes));
  }
  // Of an operator on a list of tensors.
  Result<Value*> OpOnList(std::string_view op, std::vector<Value*> inputs, Attributes attributes = {}) {
    const std::vector<int> segments = {static_cast<int>(inputs.size())};
    TONDAR_ASSIGN_OR_RETURN(Node * made, AddOp(builder.graph(), op, node_.name, std::move(inputs), segments, std::move(attributes), &node_));
    return made->outputs.at(0);
  }
  Value* Input(size_t i) const { return node_.inputs[i]; }
  const std::vector<Value*>& inputs() const { return node_.inputs; }

  LoweringBuilder& builder;
  const Arguments args;

 private:
  Node& node_;
};

using Composition = Values (*)(Composer& c);

// Composes the operator on the same arguments in a graph of its own, and looks at what comes out.
template <Composition compose>
Status InferComposed(Node& node) {
  Graph scratch;
  scratch.symbols = node.graph->symbols;
  std::vector<Value*> inputs;
  for (const Value* input : node.inputs) {
    inputs.push_back(input == nullptr ? nullptr : scratch.AddInput(input->name, input->dtype, input->shape));
  }
  Node* twin = scratch.AddNode(node.op, node.name, std::move(inputs));
  twin->segments = node.segments;
  twin->attributes = node.attributes;
  LoweringBuilder builder(*twin);
  Composer composer(*twin, builder);
  TONDAR_ASSIGN_OR_RETURN(const std::vector<Value*> results, compose(composer));
  for (size_t i = 0; i < results.size(); ++i) SetOutput(node, i, results[i]->dtype, results[i]->shape);
  return OkStatus();
}

template <Composition compose>
Status LowerComposed(const Node& node, LoweringBuilder& builder) {
  Composer composer(node, builder);
  TONDAR_ASSIGN_OR_RETURN(const std::vector<Value*> results, compose(composer));
  for (size_t i = 0; i < results.size(); ++i) builder.Replace(i, results[i]);
  return OkStatus();
}

template <Composition compose>
OpSchema Composed(std::string name, std::vector<SourceForm> sources, std::string signature = "", int results = 1) {
  OpSchema schema{.name = std::move(name), .sources = std::move(sources), .signature = std::move(signature), .results = results};
  schema.infer = InferComposed<compose>;
  schema.lower = LowerComposed<compose>;
  schema.early = true;
  return schema;
}

// A composition of one result.
template <Result<Value*> (*compose)(Composer&)>
Values One(Composer& c) {
  TONDAR_ASSIGN_OR_RETURN(Value * value, compose(c));
  return std::vector<Value*>{value};
}

// --- Stacking -------------------------------------------------------------------------------------------------------

// At least `rank` dims, as torch.atleast_1d, _2d and _3d add them.
Value* AtLeast(LoweringBuilder& builder, Value* x, size_t rank) {
  if (x->shape.size() >= rank) return x;
  if (rank == 3) return builder.Unsqueeze(AtLeast(builder, x, 2), 2);
  return AtLeast(builder, builder.Unsqueeze(x, 0), rank);
}

template <size_t rank>
Result<Value*> AtLeastRank(Composer& c) {
  return AtLeast(c.builder, c.Input(0), rank);
}

template <size_t rank>
Values AllAtLeastRank(Composer& c) {
  std::vector<Value*> results;
  for (Value* x : c.inputs()) results.push_back(AtLeast(c.builder, x, rank));
  return results;
}

// Joins the tensors, each of `rank` dims or more, along a dim.
Result<Value*> JoinAlong(Composer& c, size_t rank, int64_t dim) {
  std::vector<Value*> tensors;
  for (Value* x : c.inputs()) tensors.push_back(AtLeast(c.builder, x, rank));
  return c.OpOnList("cat", std::move(tensors), {{"dim", Dim(dim)}});
}

Result<Value*> HStack(Composer& c) { return JoinAlong(c, 1, !c.inputs().empty() && c.Input(0)->shape.size() > 1 ? 1 : 0); }
Result<Value*> VStack(Composer& c) { return JoinAlong(c, 2, 0); }
Result<Value*> DStack(Composer& c) { return JoinAlong(c, 3, 2); }

Result<Value*> ColumnStack(Composer& c) {
  std::vector<Value*> columns;
  for (Value* x : c.inputs()) columns.push_back(x->shape.size() > 1 ? x : c.builder.Reshape(x, {ElementCount(x->shape), Dim(1)}));
  return c.OpOnList("cat", std::move(columns), {{"dim", Dim(1)}});
}

// Shorter sequences are filled up at their end.
Result<Value*> PadSequence(Composer& c) {
  if (c.args.String("padding_side") != "right") return Unimplemented("padding on the left");
  const std::vector<Value*> sequences = c.args.Tensors("sequences");
  if (sequences.empty() || sequences[0]->shape.empty()) return InvalidArgument("no sequences");
  Dim longest = sequences[0]->shape[0];
  for (const Value* x : sequences) longest = BoundedMax(c.builder.graph(), longest, x->shape[0]);
  std::vector<Value*> padded;
  for (Value* x : sequences) {
    Shape pad(2 * x->shape.size(), Dim(0));
    pad.back() = longest - x->shape[0];
    TONDAR_ASSIGN_OR_RETURN(Value * full, c.Op("constant_pad", {x}, {{"pad", pad}, {"value", c.args.Number("padding_value")}}));
    padded.push_back(full);
  }
  return c.OpOnList("stack", std::move(padded), {{"dim", Dim(c.args.Bool("batch_first") ? 0 : 1)}});
}

// --- Splitting ------------------------------------------------------------------------------------------------------

// hsplit, vsplit and dsplit are tensor_split along a dim of theirs.
template <bool by_indices>
Status SplitAlong(Node& node, const Attributes& arguments, int64_t dim) {
  node.op = by_indices ? "tensor_split_indices" : "tensor_split_sections";
  node.attributes = {{by_indices ? "indices" : "sections", arguments.at(by_indices ? "indices" : "sections")}, {"dim", Dim(dim)}};
  return OkStatus();
}

template <bool by_indices>
Status SplitHorizontally(Node& node, const Attributes& arguments) {
  return SplitAlong<by_indices>(node, arguments, node.inputs[0]->shape.size() == 1 ? 0 : 1);
}
template <bool by_indices, int64_t dim>
Status SplitAt(Node& node, const Attributes& arguments) {
  return SplitAlong<by_indices>(node, arguments, dim);
}

Values NoComposition(Composer&) { return Internal("an operator that becomes another one"); }

// --- Sums and products ----------------------------------------------------------------------------------------------

Result<Value*> SumAlong(Composer& c, Value* x, Shape dims, bool keepdim = false) {
  return c.Op("sum", {x}, {{"dim", std::move(dims)}, {"keepdim", keepdim}});
}

Result<Value*> VecDot(Composer& c) {
  TONDAR_ASSIGN_OR_RETURN(Value * product, c.Op("mul", {c.Input(0), c.Input(1)}));
  return SumAlong(c, product, {c.args.Size("dim")});
}

Result<Value*> AddBmm(Composer& c) {
  TONDAR_ASSIGN_OR_RETURN(Value * products, c.Op("bmm", {c.args.Tensor("batch1"), c.args.Tensor("batch2")}));
  TONDAR_ASSIGN_OR_RETURN(Value * sum, SumAlong(c, products, {Dim(0)}));
  const double beta = c.args.Number("beta"), alpha = c.args.Number("alpha");
  TONDAR_ASSIGN_OR_RETURN(Value * scaled, c.Op("mul", {sum, c.builder.Scalar(alpha, sum->dtype)}));
  if (beta == 0) return scaled;
  TONDAR_ASSIGN_OR_RETURN(Value * bias, c.Op("mul", {c.args.Tensor("self"), c.builder.Scalar(beta, sum->dtype)}));
  return c.Op("add", {bias, scaled});
}

// x1^T W_o x2 for each output o.
Result<Value*> Bilinear(Composer& c) {
  TONDAR_ASSIGN_OR_RETURN(Value * product, c.OpOnList("einsum", {c.args.Tensor("input1"), c.args.Tensor("weight"), c.args.Tensor("input2")},
                                                      {{"equation", std::string("...i,oij,...j->...o")}}));
  Value* bias = c.args.Tensor("bias");
  return bias == nullptr ? Result<Value*>(product) : c.Op("add", {product, bias});
}

// The product of three tensors, each with dims of extent 1 put in, summed over some dims.
Result<Value*> Trilinear(Composer& c) {
  Value* product = nullptr;
  for (const char* which : {"1", "2", "3"}) {
    Value* x = c.args.Tensor(std::string("i") + which);
    for (const int64_t dim : c.args.Ints(std::string("expand") + which)) x = c.builder.Unsqueeze(x, dim);
    if (product == nullptr) {
      product = x;
    } else {
      TONDAR_ASSIGN_OR_RETURN(product, c.Op("mul", {product, x}));
    }
  }
  const Shape dims = c.args.Sizes("sumdim");
  return dims.empty() ? Result<Value*>(product) : SumAlong(c, product, dims);
}

// Sums what was broadcast to get from `size` to the tensor's shape.
Result<Value*> SumToSize(Composer& c) {
  Value* x = c.Input(0);
  const Shape size = c.args.Sizes("size");
  if (size.size() > x->shape.size()) return InvalidArgument("a size of rank {} for {}", size.size(), ToString(x->shape));
  const size_t added = x->shape.size() - size.size();
  Shape dims;
  for (size_t d = 0; d < x->shape.size(); ++d) {
    if (d < added || (size[d - added].Is(1) && !x->shape[d].Is(1))) dims.push_back(Dim(static_cast<int64_t>(d)));
  }
  if (dims.empty()) return x;
  TONDAR_ASSIGN_OR_RETURN(Value * sum, SumAlong(c, x, dims, true));
  return c.builder.Reshape(sum, size);
}

// (x[i] + x[i + 1]) / 2 * dx, summed up.
Result<Value*> CumulativeTrapezoid(Composer& c) {
  Value* y = c.Input(0);
  TONDAR_ASSIGN_OR_RETURN(const size_t d, NormaliseDim(c.args.Int("dim"), y->shape.size()));
  const int64_t dim = static_cast<int64_t>(d);
  const Dim length = y->shape[d] - Dim(1);
  Value *left = c.builder.Slice(y, dim, Dim(0), length), *right = c.builder.Slice(y, dim, Dim(1), length);
  const double half = 0.5 * c.args.Number("dx");
  TONDAR_ASSIGN_OR_RETURN(Value * sums, c.Op("add", {left, right}));
  TONDAR_ASSIGN_OR_RETURN(Value * areas, c.Op("mul", {sums, c.builder.Scalar(half, ToFloating(y->dtype))}));
  return c.Op("cumsum", {areas}, {{"dim", Dim(dim)}});
}

// --- Powers ---------------------------------------------------------------------------------------------------------

// In float64 whatever the operands are; a number may stand for either.
Result<Value*> FloatPower(Composer& c) {
  std::vector<Value*> operands;
  for (const char* name : {"self", "exponent"}) {
    Value* tensor = c.args.Tensor(name);
    operands.push_back(tensor == nullptr ? c.builder.Scalar(c.args.Number(name), DType::kFloat64) : c.builder.Cast(tensor, DType::kFloat64));
  }
  return c.Op("pow", operands);
}

// Column j is x^j, or x^(N - 1 - j) where the powers fall.
Result<Value*> Vandermonde(Composer& c) {
  Value* x = c.Input(0);
  if (x->shape.empty()) return InvalidArgument("a 0-d tensor");
  const Dim columns = c.args.IsNone("N") ? x->shape.back() : c.args.Size("N");
  Shape shape = x->shape;
  shape.push_back(columns);
  const int last = static_cast<int>(shape.size()) - 1;
  const bool rising = c.args.Bool("increasing");
  const DType dtype = x->dtype;
  return c.builder.Map(shape, {c.builder.Unsqueeze(x, -1)}, [&](LoopBuilder& b, std::span<const Handle> l) {
    Handle power = b.Index(last);
    if (!rising) power = b.Binary(LoopOp::kSub, b.Size(columns - Dim(1)), power);
    return b.Cast(b.Binary(LoopOp::kPow, b.Cast(l[0], ComputeDType(dtype)), b.Cast(power, ComputeDType(dtype))), dtype);
  });
}

// --- Weights --------------------------------------------------------------------------------------------------------

// v scaled to have norms g over all dims but one; also the norms.
Values WeightNorm(Composer& c) {
  Value *v = c.args.Tensor("v"), *g = c.args.Tensor("g");
  const int64_t kept = c.args.Int("dim");
  Shape dims;
  for (size_t d = 0; d < v->shape.size(); ++d) {
    if (static_cast<int64_t>(d) != (kept < -1 ? kept + static_cast<int64_t>(v->shape.size()) : kept)) dims.push_back(Dim(static_cast<int64_t>(d)));
  }
  TONDAR_ASSIGN_OR_RETURN(Value * norm, c.Op("vector_norm", {v}, {{"dim", dims}, {"keepdim", true}}));
  TONDAR_ASSIGN_OR_RETURN(Value * scale, c.Op("div", {g, norm}));
  TONDAR_ASSIGN_OR_RETURN(Value * weight, c.Op("mul", {v, scale}));
  return std::vector<Value*>{weight, norm};
}

// --- Recurrent cells: one step --------------------------------------------------------------------------------------

// x w^T + b, with no bias if there is none.
Result<Value*> Linear(Composer& c, Value* x, std::string_view which) {
  const std::string name(which);
  return c.Op("linear", {x, c.args.Tensor("w_" + name), c.args.Tensor("b_" + name)});
}

// Equal parts along the last dim.
std::vector<Value*> Gates(Composer& c, Value* x, int64_t gates) {
  const Dim width = Dim::FloorDiv(x->shape.back(), Dim(gates));
  std::vector<Value*> parts;
  for (int64_t i = 0; i < gates; ++i) parts.push_back(c.builder.Slice(x, -1, width * i, width));
  return parts;
}

// Gates i, f, g, o as torch.nn.LSTMCell has them.
Values LstmCell(Composer& c) {
  const std::vector<Value*> state = c.args.Tensors("hx");
  if (state.size() != 2) return InvalidArgument("{} states, expected 2", state.size());
  TONDAR_ASSIGN_OR_RETURN(Value * from_input, Linear(c, c.args.Tensor("input"), "ih"));
  TONDAR_ASSIGN_OR_RETURN(Value * from_state, Linear(c, state[0], "hh"));
  TONDAR_ASSIGN_OR_RETURN(Value * sum, c.Op("add", {from_input, from_state}));
  std::vector<Value*> gates = Gates(c, sum, 4);
  for (size_t i = 0; i < gates.size(); ++i) {
    TONDAR_ASSIGN_OR_RETURN(gates[i], c.Op(i == 2 ? "tanh" : "sigmoid", {gates[i]}));
  }
  TONDAR_ASSIGN_OR_RETURN(Value * kept, c.Op("mul", {gates[1], state[1]}));
  TONDAR_ASSIGN_OR_RETURN(Value * added, c.Op("mul", {gates[0], gates[2]}));
  TONDAR_ASSIGN_OR_RETURN(Value * cell, c.Op("add", {kept, added}));
  TONDAR_ASSIGN_OR_RETURN(Value * shown, c.Op("tanh", {cell}));
  TONDAR_ASSIGN_OR_RETURN(Value * hidden, c.Op("mul", {gates[3], shown}));
  return std::vector<Value*>{hidden, cell};
}

// Gates r, z, n as torch.nn.GRUCell has them.
Result<Value*> GruCell(Composer& c) {
  Value* state = c.args.Tensor("hx");
  TONDAR_ASSIGN_OR_RETURN(Value * from_input, Linear(c, c.args.Tensor("input"), "ih"));
  TONDAR_ASSIGN_OR_RETURN(Value * from_state, Linear(c, state, "hh"));
  const std::vector<Value*> x = Gates(c, from_input, 3), h = Gates(c, from_state, 3);
  TONDAR_ASSIGN_OR_RETURN(Value * reset, c.Op("add", {x[0], h[0]}));
  TONDAR_ASSIGN_OR_RETURN(reset, c.Op("sigmoid", {reset}));
  TONDAR_ASSIGN_OR_RETURN(Value * update, c.Op("add", {x[1], h[1]}));
  TONDAR_ASSIGN_OR_RETURN(update, c.Op("sigmoid", {update}));
  TONDAR_ASSIGN_OR_RETURN(Value * fresh, c.Op("mul", {reset, h[2]}));
  TONDAR_ASSIGN_OR_RETURN(fresh, c.Op("add", {x[2], fresh}));
  TONDAR_ASSIGN_OR_RETURN(fresh, c.Op("tanh", {fresh}));
  // fresh + update * (state - fresh)
  TONDAR_ASSIGN_OR_RETURN(Value * change, c.Op("sub", {state, fresh}));
  TONDAR_ASSIGN_OR_RETURN(change, c.Op("mul", {update, change}));
  return c.Op("add", {fresh, change});
}

template <bool relu>
Result<Value*> RnnCell(Composer& c) {
  TONDAR_ASSIGN_OR_RETURN(Value * from_input, Linear(c, c.args.Tensor("input"), "ih"));
  TONDAR_ASSIGN_OR_RETURN(Value * from_state, Linear(c, c.args.Tensor("hx"), "hh"));
  TONDAR_ASSIGN_OR_RETURN(Value * sum, c.Op("add", {from_input, from_state}));
  return c.Op(relu ? "relu" : "tanh", {sum});
}

// --- Linear algebra -------------------------------------------------------------------------------------------------

// The inverse as a linear map from the last dims of a tensor to its first `ind`.
Result<Value*> TensorInverse(Composer& c) {
  Value* a = c.Input(0);
  const int64_t ind = c.args.Int("ind");
  if (ind < 1 || ind >= static_cast<int64_t>(a->shape.size())) return InvalidArgument("ind of {} for rank {}", ind, a->shape.size());
  const Shape first(a->shape.begin(), a->shape.begin() + ind), rest(a->shape.begin() + ind, a->shape.end());
  Value* matrix = c.builder.Reshape(a, {ElementCount(first), ElementCount(rest)});
  TONDAR_ASSIGN_OR_RETURN(Value * inverse, c.Op("linalg_inv", {matrix}, {{"check_errors", true}}));
  Shape shape = rest;
  shape.insert(shape.end(), first.begin(), first.end());
  return c.builder.Reshape(inverse, shape);
}

Result<Value*> TensorSolve(Composer& c) {
  Value *a = c.Input(0), *b = c.Input(1);
  if (!c.args.IsNone("dims")) return Unimplemented("dims");
  if (b->shape.size() > a->shape.size()) return InvalidArgument("ranks {} and {}", a->shape.size(), b->shape.size());
  const Shape rest(a->shape.begin() + static_cast<ptrdiff_t>(b->shape.size()), a->shape.end());
  const Dim n = ElementCount(rest);
  TONDAR_ASSIGN_OR_RETURN(Value * x, c.Op("linalg_solve", {c.builder.Reshape(a, {n, n}), c.builder.Reshape(b, {n})}, {{"check_errors", true}}));
  return c.builder.Reshape(x, rest);
}

// The largest singular value by the smallest; with another order, the norms of the matrix and its inverse.
Result<Value*> ConditionNumber(Composer& c) {
  Value* a = c.Input(0);
  const bool spectral = c.args.IsNone("p");
  const std::string order = spectral ? "2" : c.args.String("p");
  if (order == "2" || order == "-2") {
    TONDAR_ASSIGN_OR_RETURN(Value * values, c.Op("linalg_svdvals", {a}));
    const Dim last = values->shape.back() - Dim(1);
    Value *largest = c.builder.Squeeze(c.builder.Slice(values, -1, Dim(0), Dim(1)), -1);
    Value *smallest = c.builder.Squeeze(c.builder.Slice(values, -1, last, Dim(1)), -1);
    return order == "2" ? c.Op("div", {largest, smallest}) : c.Op("div", {smallest, largest});
  }
  TONDAR_ASSIGN_OR_RETURN(Value * inverse, c.Op("linalg_inv", {a}));
  TONDAR_ASSIGN_OR_RETURN(Value * norm, c.Op("matrix_norm", {a}, {{"ord", order}}));
  TONDAR_ASSIGN_OR_RETURN(Value * other, c.Op("matrix_norm", {inverse}, {{"ord", order}}));
  return c.Op("mul", {norm, other});
}

// 1, 2, inf ... as the names of norms.
Status NameNorm(Node& node, const Attributes& arguments) {
  const auto p = arguments.find("p");
  if (p == arguments.end() || std::holds_alternative<std::monostate>(p->second)) return OkStatus();
  if (const Dim* whole = std::get_if<Dim>(&p->second)) node.attributes["p"] = std::to_string(whole->constant());
  if (const double* real = std::get_if<double>(&p->second)) {
    const bool infinite = *real - *real != 0;
    node.attributes["p"] = infinite ? std::string(*real > 0 ? "inf" : "-inf") : std::to_string(static_cast<int64_t>(*real));
  }
  return OkStatus();
}

Result<Value*> AllTrue(Composer& c) {
  return c.builder.Full(1, DType::kBool, c.Input(0)->shape);
}

Result<Value*> DiagFlat(Composer& c) {
  Value* flat = c.builder.Reshape(c.Input(0), {ElementCount(c.Input(0)->shape)});
  return c.Op("diag_embed", {flat}, {{"offset", c.args.Size("offset")}});
}

}  // namespace

std::vector<OpSchema> CompositionOps() {
  const char* const kList = "(Tensor[] tensors)";
  const char* const kCell = "(Tensor input, Tensor hx, Tensor w_ih, Tensor w_hh, Tensor? b_ih=None, Tensor? b_hh=None)";
  return {
      Composed<One<AtLeastRank<1>>>("atleast_1d", {{"aten.atleast_1d.default", "(Tensor self)"}}),
      Composed<One<AtLeastRank<2>>>("atleast_2d", {{"aten.atleast_2d.default", "(Tensor self)"}}),
      Composed<One<AtLeastRank<3>>>("atleast_3d", {{"aten.atleast_3d.default", "(Tensor self)"}}),
      Composed<AllAtLeastRank<1>>("all_atleast_1d", {{"aten.atleast_1d.Sequence", kList}}, "", -1),
      Composed<AllAtLeastRank<2>>("all_atleast_2d", {{"aten.atleast_2d.Sequence", kList}}, "", -1),
      Composed<AllAtLeastRank<3>>("all_atleast_3d", {{"aten.atleast_3d.Sequence", kList}}, "", -1),
      Composed<One<HStack>>("hstack", {{"aten.hstack.default", kList}}),
      Composed<One<VStack>>("vstack", {{"aten.vstack.default", kList}, {"aten.row_stack.default", kList}}),
      Composed<One<DStack>>("dstack", {{"aten.dstack.default", kList}}),
      Composed<One<ColumnStack>>("column_stack", {{"aten.column_stack.default", kList}}),
      Composed<One<PadSequence>>("pad_sequence", {{"aten.pad_sequence.default",
                                                   "(Tensor[] sequences, bool batch_first=False, float padding_value=0.0, str padding_side='right')"}}),
      Composed<NoComposition>("split_along",
                              {{"aten.hsplit.int", "(Tensor self, int sections)", {}, SplitHorizontally<false>},
                               {"aten.vsplit.int", "(Tensor self, int sections)", {}, SplitAt<false, 0>},
                               {"aten.dsplit.int", "(Tensor self, int sections)", {}, SplitAt<false, 2>},
                               {"aten.hsplit.array", "(Tensor self, int[] indices)", {}, SplitHorizontally<true>},
                               {"aten.vsplit.array", "(Tensor self, int[] indices)", {}, SplitAt<true, 0>},
                               {"aten.dsplit.array", "(Tensor self, int[] indices)", {}, SplitAt<true, 2>}},
                              "(Tensor self, int sections=0, int[] indices=[])", -1),
      Composed<One<VecDot>>("linalg_vecdot", {{"aten.linalg_vecdot.default", "(Tensor x, Tensor y, *, int dim=-1)"}}),
      Composed<One<AddBmm>>("addbmm", {{"aten.addbmm.default", "(Tensor self, Tensor batch1, Tensor batch2, *, Scalar beta=1, Scalar alpha=1)"}}),
      Composed<One<Bilinear>>("bilinear", {{"aten.bilinear.default", "(Tensor input1, Tensor input2, Tensor weight, Tensor? bias=None)"}}),
      Composed<One<Trilinear>>("trilinear", {{"aten._trilinear.default",
                                              "(Tensor i1, Tensor i2, Tensor i3, int[] expand1, int[] expand2, int[] expand3, int[] sumdim, int unroll_dim=1)"}}),
      Composed<One<SumToSize>>("sum_to_size", {{"aten.sum_to_size.default", "(Tensor self, SymInt[] size)"}}),
      Composed<One<CumulativeTrapezoid>>("cumulative_trapezoid",
                                         {{"aten.cumulative_trapezoid.dx", "(Tensor y, *, Scalar dx=1, int dim=-1)"}}),
      Composed<One<FloatPower>>("float_power", {{"aten.float_power.Tensor_Tensor", "(Tensor self, Tensor exponent)"},
                                                {"aten.float_power.Tensor_Scalar", "(Tensor self, Tensor exponent)"},
                                                {"aten.float_power.Scalar", "(Tensor self, Tensor exponent)"}}),
      Composed<One<Vandermonde>>("vander",
                                 {{"aten.vander.default", "(Tensor x, SymInt? N=None, bool increasing=False)"},
                                  {"aten.linalg_vander.default", "(Tensor x, *, SymInt? N=None, bool increasing=True)"}}),
      Composed<WeightNorm>("weight_norm",
                           {{"aten._weight_norm.default", "(Tensor v, Tensor g, int dim=0)"}, {"aten._weight_norm_interface.default", "(Tensor v, Tensor g, int dim=0)"}},
                           "", 2),
      Composed<LstmCell>("lstm_cell",
                         {{"aten.lstm_cell.default",
                           "(Tensor input, Tensor[] hx, Tensor w_ih, Tensor w_hh, Tensor? b_ih=None, Tensor? b_hh=None)"}},
                         "", 2),
      Composed<One<GruCell>>("gru_cell", {{"aten.gru_cell.default", kCell}}),
      Composed<One<RnnCell<false>>>("rnn_tanh_cell", {{"aten.rnn_tanh_cell.default", kCell}}),
      Composed<One<RnnCell<true>>>("rnn_relu_cell", {{"aten.rnn_relu_cell.default", kCell}}),
      Composed<One<TensorInverse>>("linalg_tensorinv", {{"aten.linalg_tensorinv.default", "(Tensor self, int ind=2)"}}),
      Composed<One<TensorSolve>>("linalg_tensorsolve", {{"aten.linalg_tensorsolve.default", "(Tensor self, Tensor other, int[]? dims=None)"}}),
      Composed<One<ConditionNumber>>("linalg_cond",
                                     {{"aten.linalg_cond.default", "(Tensor self, Scalar? p=None)", {}, NameNorm}, {"aten.linalg_cond.p_str", "(Tensor self, str p)"}},
                                     "(Tensor self, str? p=None)"),
      Composed<One<AllTrue>>("isreal", {{"aten.isreal.default", "(Tensor self)"}}),
      Composed<One<DiagFlat>>("diagflat", {{"aten.diagflat.default", "(Tensor self, int offset=0)"}}),
  };
}

}  // namespace tondar
