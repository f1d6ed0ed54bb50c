// VerifyGraph: what every pass may rely on.
#include <algorithm>
#include <set>
#include <unordered_set>

#include "engine/ir/graph.h"

namespace tondar {
namespace {

// Looks at the nodes in order and remembers which values exist by then.
class Verifier {
 public:
  explicit Verifier(const Graph& graph) : graph_(graph) {}

  Status Run() {
    for (const Value* value : graph_.inputs) TONDAR_RETURN_IF_ERROR(Define(value, nullptr));
    for (const Value* value : graph_.constants()) TONDAR_RETURN_IF_ERROR(DefineConstant(value));
    for (const auto& node : graph_.nodes()) TONDAR_RETURN_IF_ERROR(CheckNode(*node));
    for (const Value* value : graph_.outputs) {
      if (value == nullptr || !defined_.contains(value)) {
        return Internal("graph '{}': output '{}' is no value of the graph", graph_.name, value ? value->name : "null");
      }
    }
    TONDAR_RETURN_IF_ERROR(CheckStates());
    return CheckUses();
  }

 private:
  Status CheckStates() const {
    if (graph_.inputs.size() < graph_.states.size() ||
        graph_.outputs.size() < graph_.states.size() + graph_.data_symbols.size()) {
      return Internal("graph '{}': {} states and {} sizes among {} inputs and {} outputs", graph_.name,
                      graph_.states.size(), graph_.data_symbols.size(), graph_.inputs.size(), graph_.outputs.size());
    }
    for (size_t i = 0; i < graph_.states.size(); ++i) {
      const Value& before = *graph_.inputs[graph_.user_inputs() + i];
      const Value& after = *graph_.outputs[graph_.user_outputs() + i];
      // Extents may be spelled in other ways; checks hold them to be equal.
      if (before.dtype == after.dtype && before.shape.size() == after.shape.size() && IsConstant(before.shape)) continue;
      return Internal("state '{}' is {} {} before a run and {} {} after it", graph_.states[i].name, Name(before.dtype),
                      ToString(before.shape), Name(after.dtype), ToString(after.shape));
    }
    for (size_t i = 0; i < graph_.data_symbols.size(); ++i) {
      const Value& value = *graph_.outputs[graph_.outputs.size() - graph_.data_symbols.size() + i];
      if (value.dtype != DType::kInt64 || !value.shape.empty()) {
        return Internal("the size '{}' is {} {}, expected a 0-d int64", value.name, Name(value.dtype), ToString(value.shape));
      }
      if (static_cast<size_t>(graph_.data_symbols[i]) >= graph_.symbols.size()) {
        return Internal("the size '{}' is for a symbol that the graph lacks", value.name);
      }
    }
    return OkStatus();
  }

  Status Define(const Value* value, const Node* producer) {
    if (value == nullptr) return Internal("graph '{}': a value is null", graph_.name);
    if (value->graph != &graph_) return Internal("value '{}' is of another graph", value->name);
    if (value->producer != producer) return Internal("value '{}' has another producer", value->name);
    if (value->dtype == DType::kInvalid) return Internal("value '{}' has no dtype", value->name);
    if (value->shape.size() > static_cast<size_t>(kMaxRank)) {
      return Internal("value '{}' has rank {}, at most {} is possible", value->name, value->shape.size(), kMaxRank);
    }
    if (!value_names_.insert(value->name).second) return Internal("two values are called '{}'", value->name);
    if (!defined_.insert(value).second) return Internal("value '{}' is defined twice", value->name);
    return OkStatus();
  }

  Status DefineConstant(const Value* value) {
    TONDAR_RETURN_IF_ERROR(Define(value, nullptr));
    const TensorView& view = value->constant->view;
    if (view.dtype != value->dtype || ToShape(view.shape) != value->shape || view.strides.rank() != view.shape.rank()) {
      return Internal("constant '{}': its view is {} {}, the value {} {}", value->name, Name(view.dtype),
                      ToString(view.shape), Name(value->dtype), ToString(value->shape));
    }
    return OkStatus();
  }

  Status CheckNode(const Node& node) {
    if (!node_names_.insert(node.name).second) return Internal("two nodes are called '{}'", node.name);
    if (node.graph != &graph_) return Internal("node '{}' is of another graph", node.name);
    if ((node.op == kStepOp) != node.IsStep()) return Internal("node '{}' is half a step", node.name);
    int total = 0;
    for (int segment : node.segments) total += segment;
    if (static_cast<size_t>(total) != node.inputs.size()) {
      return Internal("node '{}' ({}): segments of {} inputs, found {}", node.name, node.op, total, node.inputs.size());
    }
    for (const Value* input : node.inputs) {
      if (input == nullptr) continue;
      if (!defined_.contains(input)) {
        return Internal("node '{}' ({}) reads '{}' before it is made", node.name, node.op, input->name);
      }
      if (std::find(input->users.begin(), input->users.end(), &node) == input->users.end()) {
        return Internal("value '{}' does not know its user '{}'", input->name, node.name);
      }
      ++uses_[input];
    }
    for (const Value* output : node.outputs) {
      TONDAR_RETURN_IF_ERROR(Define(output, &node).Annotated(fmt::format("node '{}' ({})", node.name, node.op)));
    }
    for (const auto& subgraph : node.subgraphs) {
      TONDAR_RETURN_IF_ERROR(VerifyGraph(*subgraph).Annotated(fmt::format("node '{}' ({})", node.name, node.op)));
    }
    if (!node.IsStep()) return OkStatus();
    return CheckStep(node).Annotated(fmt::format("step '{}' ({})", node.name, Name(KindOf(*node.body))));
  }

  Status CheckUses() const {
    for (const Value* value : defined_) {
      const auto uses = uses_.find(value);
      const size_t counted = uses == uses_.end() ? 0 : uses->second;
      if (counted != value->users.size()) {
        return Internal("value '{}' lists {} uses, found {}", value->name, value->users.size(), counted);
      }
    }
    return OkStatus();
  }

  static Status CheckStep(const Node& node) {
    std::vector<int> ranks;
    for (const Value* input : node.inputs) {
      if (input == nullptr) return Internal("an operand is null");
      ranks.push_back(static_cast<int>(input->shape.size()));
    }
    if (static_cast<int>(ranks.size()) < FixedInputs(*node.body)) {
      return Internal("{} operands, expected at least {}", ranks.size(), FixedInputs(*node.body));
    }
    if (node.outputs.empty()) return Internal("no result");
    const Shape& result = node.outputs[0]->shape;
    if (const LoopProgram* epilogue = EpilogueOf(*node.body)) {
      if (epilogue->empty()) return OkStatus();
      return VerifyProgram(*epilogue, ranks, static_cast<int>(result.size()), 1).Annotated("epilogue");
    }
    if (const auto* map = std::get_if<MapStep>(node.body.get())) return CheckMap(node, *map, ranks);
    if (const auto* reduce = std::get_if<ReduceStep>(node.body.get())) return CheckReduce(*reduce, result, ranks);
    if (const auto* scan = std::get_if<ScanStep>(node.body.get())) {
      if (scan->extents != result) return Internal("extents {}, result {}", ToString(scan->extents), ToString(result));
      return VerifyProgram(scan->program, ranks, static_cast<int>(scan->extents.size()), 0);
    }
    if (const auto* scatter = std::get_if<ScatterStep>(node.body.get())) return CheckScatter(node, *scatter, ranks);
    if (KindOf(*node.body) == StepKind::kSort) return CheckSort(node);
    if (KindOf(*node.body) == StepKind::kLinalg) return CheckLinalg(node);
    return OkStatus();
  }

  static Status CheckMap(const Node& node, const MapStep& map, std::span<const int> ranks) {
    if (map.program.results.size() != node.outputs.size()) {
      return Internal("{} results, {} outputs", map.program.results.size(), node.outputs.size());
    }
    for (size_t i = 0; i < node.outputs.size(); ++i) {
      const Value& output = *node.outputs[i];
      if (output.shape != map.extents) {
        return Internal("extents {}, result {}", ToString(map.extents), ToString(output.shape));
      }
      const DType dtype = map.program.body[static_cast<size_t>(map.program.results[i])].dtype;
      if (dtype != output.dtype) return Internal("the program gives {}, the output is {}", Name(dtype), Name(output.dtype));
    }
    return VerifyProgram(map.program, ranks, static_cast<int>(map.extents.size()), 0);
  }

  static Status CheckReduce(const ReduceStep& reduce, const Shape& result, std::span<const int> ranks) {
    const int rank = static_cast<int>(reduce.extents.size());
    if (reduce.reduced < 0 || reduce.reduced > rank) return Internal("{} of {} dims reduced", reduce.reduced, rank);
    const Shape outer(reduce.extents.begin(), reduce.extents.end() - reduce.reduced);
    if (outer != result) return Internal("outer extents {}, result {}", ToString(outer), ToString(result));
    TONDAR_RETURN_IF_ERROR(VerifyProgram(reduce.program, ranks, rank, 0));
    if (reduce.finish.empty()) return OkStatus();
    return VerifyProgram(reduce.finish, ranks, rank - reduce.reduced, 1).Annotated("finish");
  }

  static Status CheckScatter(const Node& node, const ScatterStep& scatter, std::span<const int> ranks) {
    const Value &base = *node.inputs[0], &output = *node.outputs[0];
    if (base.shape != output.shape || base.dtype != output.dtype) {
      return Internal("base {} {}, result {} {}", Name(base.dtype), ToString(base.shape), Name(output.dtype), ToString(output.shape));
    }
    const std::vector<int16_t>& results = scatter.program.results;
    if (results.size() != 1 + output.shape.size()) return Internal("{} results for rank {}", results.size(), output.shape.size());
    TONDAR_RETURN_IF_ERROR(VerifyProgram(scatter.program, ranks, static_cast<int>(scatter.extents.size()), 0));
    for (size_t i = 0; i < results.size(); ++i) {
      const DType dtype = scatter.program.body[static_cast<size_t>(results[i])].dtype;
      const DType expected = i == 0 ? output.dtype : DType::kInt64;
      if (dtype != expected) return Internal("result {} is {}, expected {}", i, Name(dtype), Name(expected));
    }
    return OkStatus();
  }

  static Status CheckSort(const Node& node) {
    const Value &keys = *node.inputs[0], &output = *node.outputs[0];
    if (output.dtype != DType::kInt64) return Internal("positions of {}", Name(output.dtype));
    const bool same_rank = !keys.shape.empty() && keys.shape.size() == output.shape.size();
    if (!same_rank || !std::equal(keys.shape.begin(), keys.shape.end() - 1, output.shape.begin())) {
      return Internal("keys {}, positions {}", ToString(keys.shape), ToString(output.shape));
    }
    return OkStatus();
  }

  static Status CheckLinalg(const Node& node) {
    const Value& output = *node.outputs[0];
    for (const Value* input : node.inputs) {
      const bool fits = input->dtype == output.dtype && input->shape.size() == output.shape.size() + 1 &&
                        std::equal(output.shape.begin(), output.shape.end() - 1, input->shape.begin());
      if (!fits) return Internal("{} {} gives {} {}", Name(input->dtype), ToString(input->shape), Name(output.dtype), ToString(output.shape));
    }
    return OkStatus();
  }

  const Graph& graph_;
  std::unordered_set<const Value*> defined_;
  std::unordered_map<const Value*, size_t> uses_;
  std::set<std::string_view> value_names_, node_names_;
};

}  // namespace

Status VerifyGraph(const Graph& graph) { return Verifier(graph).Run(); }

}  // namespace tondar
