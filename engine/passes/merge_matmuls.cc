// Products of one value with several constant matrices become one product with the matrices side by side: one pass
// over the input, larger tiles. The parts are slices of the result, which cost nothing (query, key and value, say).
#include <algorithm>
#include <unordered_map>

#include "engine/ir/view.h"
#include "engine/passes/passes.h"
#include "engine/plan/loop_builder.h"

namespace tondar {
namespace {

// A product that may merge: [batch..., M, K] x constant [K, N] (+ constant bias [N]).
struct Product {
  Node* node = nullptr;
  const Value* weight = nullptr;  // [K, N]
  const Value* bias = nullptr;    // [N] or null
};

// The constant matrix that `value` repeats over batch dims.
const Value* ConstantMatrix(const Value* value) {
  while (const Node* view = ViewMaking(value)) {
    if (ViewOf(*view)->kind != ViewKind::kExpand) return nullptr;
    value = view->inputs[0];
  }
  return value->IsConstant() && value->shape.size() == 2 ? value : nullptr;
}

LoopProgram BiasEpilogue(DType dtype, int rank) {
  LoopBuilder builder;
  const LoopBuilder::Handle product = builder.Accumulator(0, dtype);
  const LoopBuilder::Handle bias = builder.Load({2, {IndexExpression::LoopDim(rank - 1)}, 0}, dtype);
  builder.Result(builder.Binary(LoopOp::kAdd, product, bias));
  return std::move(builder).Build();
}

// True for an epilogue that only adds operand 2 along the columns, in whatever order it is written.
bool IsBiasEpilogue(const LoopProgram& program, DType dtype, int rank) {
  if (program.body.size() != 3 || program.results != std::vector<int16_t>{2}) return false;
  const LoopInstruction& sum = program.body[2];
  if (sum.op != LoopOp::kAdd || sum.dtype != dtype || sum.a == sum.b) return false;
  const Access bias{2, {IndexExpression::LoopDim(rank - 1)}, 0};
  return program.accesses == std::vector<Access>{bias} && program.body[0].op != program.body[1].op;
}

// A map that would move into the product's epilogue is worth more than a wider product, and the caller's results would
// have to be copied out of it.
bool IsBetterAlone(const Graph& graph, const Value* value) {
  if (graph.IsOutput(value)) return true;
  const bool read_once = value->users.size() == 1;
  return std::any_of(value->users.begin(), value->users.end(), [&](const Node* user) {
    if (ViewOf(*user)) return IsBetterAlone(graph, user->outputs[0]);
    return read_once && user->IsStep() && KindOf(*user->body) == StepKind::kMap;
  });
}

std::optional<Product> AsProduct(const Graph& graph, Node* node) {
  if (!node->IsStep() || KindOf(*node->body) != StepKind::kMatMul) return std::nullopt;
  if (IsBetterAlone(graph, node->outputs[0])) return std::nullopt;
  Product product{node, ConstantMatrix(node->inputs[1]), nullptr};
  const DType dtype = node->outputs[0]->dtype;
  // Narrower floats accumulate wider; their epilogues convert.
  if (product.weight == nullptr || (dtype != DType::kFloat32 && dtype != DType::kFloat64)) return std::nullopt;
  const LoopProgram& epilogue = *EpilogueOf(*node->body);
  if (epilogue.empty()) return product;
  if (!IsBiasEpilogue(epilogue, dtype, static_cast<int>(node->outputs[0]->shape.size()))) return std::nullopt;
  product.bias = node->inputs[2];
  return product.bias->IsConstant() ? std::optional(product) : std::nullopt;
}

int64_t Columns(const Product& product) { return product.weight->shape[1].constant(); }

int64_t TotalColumns(std::span<const Product> products) {
  int64_t total = 0;
  for (const Product& product : products) total += Columns(product);
  return total;
}

// The matrices side by side, stored with each column's elements together as linear layers have them.
Constant JoinedWeights(std::span<const Product> products) {
  const Value& first = *products.front().weight;
  const int64_t depth = first.shape[0].constant();
  Constant joined = AllocateConstant(first.name + "_joined", first.dtype, {TotalColumns(products), depth});
  joined.view.shape = {depth, TotalColumns(products)};
  joined.view.strides = {1, depth};
  TensorView part = joined.view;
  for (const Product& product : products) {
    part.shape = {depth, Columns(product)};
    CopyElements(product.weight->constant->view, part);
    part.data += Columns(product) * depth * static_cast<int64_t>(SizeOf(first.dtype));
  }
  return joined;
}

// The biases one after the other; zeros for products without one.
Constant JoinedBiases(std::span<const Product> products) {
  const DType dtype = products.front().node->outputs[0]->dtype;
  Constant joined = AllocateConstant(products.front().weight->name + "_joined_bias", dtype, {TotalColumns(products)});
  std::fill_n(joined.view.data, joined.view.size_bytes(), std::byte{0});
  TensorView part = joined.view;
  for (const Product& product : products) {
    part.shape = {Columns(product)};
    if (product.bias != nullptr) CopyElements(product.bias->constant->view, part);
    part.data += Columns(product) * static_cast<int64_t>(SizeOf(dtype));
  }
  return joined;
}

void Join(Graph& graph, std::span<const Product> products) {
  Node* first = products.front().node;
  Value* x = first->inputs[0];
  const Value* result = first->outputs[0];
  const size_t rank = result->shape.size();
  const bool biased = std::any_of(products.begin(), products.end(), [](const Product& p) { return p.bias != nullptr; });

  Value* weight = graph.AddConstant(JoinedWeights(products));
  Shape wide(x->shape.begin(), x->shape.end() - 2);
  wide.insert(wide.end(), weight->shape.begin(), weight->shape.end());
  std::vector<Value*> inputs = {x, AddExpand(graph, weight, wide, first)};
  MatMulStep step;
  if (biased) {
    inputs.push_back(graph.AddConstant(JoinedBiases(products)));
    step.epilogue = BiasEpilogue(result->dtype, static_cast<int>(rank));
  }
  Shape shape = result->shape;
  shape.back() = TotalColumns(products);
  Value* joined = graph.AddStep(std::move(step), first->name, std::move(inputs), result->dtype, shape, first)->outputs[0];

  int64_t start = 0;
  for (const Product& product : products) {
    Value* part = AddSlice(graph, joined, rank - 1, start, Columns(product), 1, first);
    start += Columns(product);
    graph.ReplaceAllUses(product.node->outputs[0], part);
  }
}

// Only what accumulates in the same way may merge.
bool Agree(const Product& a, const Product& b) {
  return a.node->outputs[0]->dtype == b.node->outputs[0]->dtype && a.weight->dtype == b.weight->dtype;
}

}  // namespace

Status MergeMatMuls(Graph& graph, const PassContext& context) {
  std::vector<std::vector<Product>> groups;
  std::unordered_map<const Value*, size_t> group_of;  // by left operand
  for (Node* node : graph.NodeList()) {
    for (const auto& subgraph : node->subgraphs) TONDAR_RETURN_IF_ERROR(MergeMatMuls(*subgraph, context));
    const std::optional<Product> product = AsProduct(graph, node);
    if (!product) continue;
    const auto [entry, is_new] = group_of.emplace(node->inputs[0], groups.size());
    if (is_new) groups.emplace_back();
    std::vector<Product>& group = groups[entry->second];
    if (group.empty() || Agree(group.front(), *product)) group.push_back(*product);
  }
  for (const std::vector<Product>& group : groups) {
    if (group.size() > 1) Join(graph, group);
  }
  return RemoveDeadCode(graph, context);
}

}  // namespace tondar
