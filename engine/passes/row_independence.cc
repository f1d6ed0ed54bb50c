#include "engine/passes/row_independence.h"

#include <algorithm>
#include <optional>
#include <span>
#include <unordered_map>

#include "engine/ir/view.h"

namespace tondar {
namespace {

// Where the rows of a value are: along one dim, whose extent is batch * n, row r being the r-th n positions; or nowhere,
// the value being the same for every row.
using RowDim = std::optional<size_t>;

// The end of the proof, as what the step does: "sums over the batch".
struct Mixes {
  std::string_view what;
};

class RowProof {
 public:
  RowProof(const Graph& graph, SymbolId batch) : graph_(graph), batch_(batch) {}

  std::string Run() {
    for (const Value* input : graph_.inputs) rows_[input] = 0;
    for (const auto& node : graph_.nodes()) {
      if (!Follow(*node)) return fmt::format("{} '{}' {}", node->IsStep() ? "step" : node->op, node->name, why_);
    }
    for (const Value* output : graph_.outputs) {
      if (Rows(*output) != RowDim(0)) return fmt::format("output '{}' is not made of the inputs' rows", output->name);
    }
    return {};
  }

 private:
  bool Fail(std::string_view why) {
    why_ = why;
    return false;
  }

  bool Mentions(const Dim& dim) const {
    if (dim.IsConstant()) return false;
    std::vector<SymbolId> symbols;
    dim.CollectSymbols(symbols);
    return std::find(symbols.begin(), symbols.end(), batch_) != symbols.end();
  }

  // True for batch * n.
  bool IsRows(const Dim& extent) const {
    std::vector<Dim> one;
    for (size_t i = 0; i < graph_.symbols.size(); ++i) one.push_back(Dim::Symbol(static_cast<SymbolId>(i)));
    one[static_cast<size_t>(batch_)] = 1;
    const Dim chunk = extent.Substitute(one);
    return Dim::Symbol(batch_) * chunk == extent;
  }

  // The one dim that may hold rows. False if the batch is in the shape in another way.
  bool FindRowDim(const Shape& shape, RowDim& found) {
    found = std::nullopt;
    for (size_t d = 0; d < shape.size(); ++d) {
      if (!Mentions(shape[d])) continue;
      if (found || !IsRows(shape[d])) return Fail("has a size in which the batch is more than a number of rows");
      found = d;
    }
    return true;
  }

  RowDim Rows(const Value& value) const {
    const auto known = rows_.find(&value);
    return known == rows_.end() ? std::nullopt : known->second;  // constants have none
  }

  bool Give(const Node& node, RowDim rows) {
    for (const Value* output : node.outputs) {
      RowDim shape_rows;
      if (!FindRowDim(output->shape, shape_rows)) return false;
      if (shape_rows != rows) return Fail("has a result whose rows are not its inputs'");
      rows_[output] = rows;
    }
    return true;
  }

  bool Follow(const Node& node) {
    if (!node.subgraphs.empty()) return FollowControl(node);
    if (const std::optional<View> view = ViewOf(node)) return FollowView(node, *view);
    if (node.op == kBitsOp) return Give(node, Rows(*node.inputs[0]));
    if (!node.IsStep()) return FollowConcat(node);
    return std::visit([&](const auto& body) { return FollowStep(node, body); }, *node.body);
  }

  // ---- Bodies ----

  // What decides must be the same for all rows; then each row goes the same way through the bodies. Rows lie in the values
  // of a body where they lie in what is given to it, and must lie there again in what a loop carries on.
  bool FollowControl(const Node& node) {
    const bool loops = node.op == kWhileOp;
    const size_t first = loops ? 0 : 1;  // of the inputs that bodies take
    if (!loops && Rows(*node.inputs[0])) return Fail("decides for all rows at once");
    std::vector<RowDim> rows;
    for (const Value* output : node.outputs) {
      rows.emplace_back();
      if (!FindRowDim(output->shape, rows.back())) return false;
    }
    for (const auto& body : node.subgraphs) {
      for (size_t i = 0; i < body->inputs.size(); ++i) rows_[body->inputs[i]] = Rows(*node.inputs[first + i]);
      for (const auto& inner : body->nodes()) {
        if (!Follow(*inner)) return false;
      }
      const bool is_condition = loops && body == node.subgraphs[0];
      for (size_t i = 0; i < body->outputs.size(); ++i) {
        if (Rows(*body->outputs[i]) != (is_condition ? std::nullopt : rows[i])) return Fail("mixes rows in a body");
      }
    }
    for (size_t i = 0; loops && i < rows.size(); ++i) {
      if (Rows(*node.inputs[i]) != rows[i]) return Fail("carries what has no rows as rows");
    }
    return Give(node, rows);
  }

  bool Give(const Node& node, const std::vector<RowDim>& rows) {
    for (size_t i = 0; i < rows.size(); ++i) rows_[node.outputs[i]] = rows[i];
    return true;
  }

  // ---- Views ----

  bool FollowView(const Node& node, const View& view) {
    const Value& input = *node.inputs[0];
    const Value& output = *node.outputs[0];
    const RowDim rows = Rows(input);
    switch (view.kind) {
      case ViewKind::kAlias: return Give(node, rows);
      case ViewKind::kPermute: {
        if (!rows) return Give(node, rows);
        const auto place = std::find(view.dims.begin(), view.dims.end(), *rows);
        return Give(node, static_cast<size_t>(place - view.dims.begin()));
      }
      case ViewKind::kSlice:
        if (Mentions(view.start) || (rows && view.dim == *rows)) return Fail("takes rows out of the batch");
        return Give(node, rows);
      case ViewKind::kExpand: {
        if (rows) return Give(node, *rows + output.shape.size() - input.shape.size());
        RowDim repeated;  // what is the same for every row may be repeated for each
        return FindRowDim(output.shape, repeated) && Give(node, repeated);
      }
      case ViewKind::kReshape: return rows ? FollowReshape(node, *rows) : Give(node, rows);
    }
    return Fail("is a view of an unknown kind");
  }

  // Rows that are outermost among the dims that a reshape joins stay whole, and outermost.
  bool FollowReshape(const Node& node, size_t rows) {
    const Shape &from = node.inputs[0]->shape, &to = node.outputs[0]->shape;
    for (const ReshapeGroup& group : GroupReshape(from, to)) {
      if (rows < group.input || rows >= group.input + group.inputs) continue;
      const auto is_unit = [](const Dim& extent) { return extent.Is(1); };
      const auto begin = from.begin() + static_cast<std::ptrdiff_t>(group.input);
      const bool outermost = std::all_of(begin, from.begin() + static_cast<std::ptrdiff_t>(rows), is_unit);
      if (!outermost) return Fail("joins the batch with dims around it");
      size_t first = group.output;
      while (first + 1 < group.output + group.outputs && to[first].Is(1)) ++first;
      return Give(node, first);
    }
    return Fail("has dims in which the batch cannot be followed");
  }

  bool FollowConcat(const Node& node) {
    const Attribute* attribute = node.Find("dim");
    const Dim* dim = attribute == nullptr ? nullptr : std::get_if<Dim>(attribute);
    if (node.op != "concat" || dim == nullptr || !dim->IsConstant()) return Fail("is neither a step nor a view");
    const RowDim rows = Rows(*node.inputs[0]);
    for (const Value* input : node.inputs) {
      if (Rows(*input) != rows) return Fail("joins rows with what is no row");
    }
    if (rows && static_cast<size_t>(dim->constant()) == *rows) return Fail("joins rows along the batch");
    return Give(node, rows);
  }

  // ---- Programs ----

  // A load in a loop whose dim `rows` walks along the batch.
  bool FollowAccess(const Access& access, const Value& operand, RowDim loop_rows, const Shape& extents) {
    const RowDim rows = Rows(operand);
    if (rows && !loop_rows) return Fail("reads rows for what has none");
    for (size_t d = 0; d < access.index.size(); ++d) {
      const IndexExpression& index = access.index[d];
      if (Mentions(index.offset)) return Fail("reads at a position that depends on the batch's size");
      const bool walks = loop_rows && std::any_of(index.terms.begin(), index.terms.end(), [&](const IndexExpression::Term& term) {
        return static_cast<size_t>(term.loop_dim) == *loop_rows;
      });
      if (rows && d == *rows) {
        if (index != IndexExpression::LoopDim(static_cast<int>(*loop_rows)) || operand.shape[d] != extents[*loop_rows]) {
          return Fail("reads other rows than its own");
        }
      } else if (walks) {
        return Fail("reads at the row's place in the batch");
      }
    }
    return true;
  }

  bool FollowProgram(const LoopProgram& program, const Node& node, RowDim loop_rows, const Shape& extents) {
    for (const Dim& size : program.sizes) {
      if (Mentions(size)) return Fail("computes with the batch's size");
    }
    for (const LoopInstruction& instruction : program.body) {
      const bool is_place = instruction.op == LoopOp::kIndex && loop_rows && static_cast<size_t>(instruction.source) == *loop_rows;
      if (is_place) return Fail("computes with the row's place in the batch");
    }
    return std::all_of(program.accesses.begin(), program.accesses.end(), [&](const Access& access) {
      return FollowAccess(access, *node.inputs[static_cast<size_t>(access.operand)], loop_rows, extents);
    });
  }

  bool FollowEpilogue(const LoopProgram& epilogue, const Node& node, RowDim rows) {
    return FollowProgram(epilogue, node, rows, node.outputs[0]->shape) && Give(node, rows);
  }

  // ---- Steps ----

  bool FollowStep(const Node& node, const MapStep& map) {
    RowDim rows;
    return FindRowDim(map.extents, rows) && FollowProgram(map.program, node, rows, map.extents) && Give(node, rows);
  }

  bool FollowStep(const Node& node, const ReduceStep& reduce) {
    RowDim rows;
    if (!FindRowDim(reduce.extents, rows)) return false;
    const size_t outer = reduce.extents.size() - static_cast<size_t>(reduce.reduced);
    if (rows && *rows >= outer) return Fail("reduces over the batch");
    const Shape outer_extents(reduce.extents.begin(), reduce.extents.begin() + static_cast<std::ptrdiff_t>(outer));
    return FollowProgram(reduce.program, node, rows, reduce.extents) &&
           FollowProgram(reduce.finish, node, rows, outer_extents) && Give(node, rows);
  }

  bool FollowStep(const Node& node, const ScanStep& scan) {
    RowDim rows;
    if (!FindRowDim(scan.extents, rows)) return false;
    if (rows && *rows + 1 == scan.extents.size()) return Fail("runs along the batch");
    return FollowProgram(scan.program, node, rows, scan.extents) && Give(node, rows);
  }

  bool FollowStep(const Node& node, const MatMulStep& matmul) {
    const RowDim a = Rows(*node.inputs[0]), b = Rows(*node.inputs[1]);
    const size_t rank = node.outputs[0]->shape.size();
    if ((a && *a == rank - 1) || (b && *b == rank - 2)) return Fail("sums over the batch");
    if (a && b && (*a != *b || *a + 2 >= rank)) return Fail("multiplies rows with each other");
    return FollowEpilogue(matmul.epilogue, node, a ? a : b);
  }

  bool FollowStep(const Node& node, const ConvStep& conv) {
    const RowDim rows = Rows(*node.inputs[0]);
    if ((rows && *rows != 0) || Rows(*node.inputs[1])) return Fail("convolves along the batch");
    return FollowEpilogue(conv.epilogue, node, rows);
  }

  bool FollowStep(const Node& node, const AttentionStep&) {
    const RowDim rows = Rows(*node.inputs[0]);
    for (const Value* input : node.inputs) {
      const RowDim other = Rows(*input);
      const bool fits = !other || (other == rows && *other + 2 < input->shape.size());
      if (!fits) return Fail("attends to other rows");
    }
    if (rows && *rows + 2 >= node.inputs[0]->shape.size()) return Fail("attends along the batch");
    return Give(node, rows);
  }

  bool FollowStep(const Node& node, const NormStep& norm) {
    const RowDim rows = Rows(*node.inputs[0]);
    if (rows && *rows + static_cast<size_t>(norm.axes) >= node.inputs[0]->shape.size()) return Fail("normalises over the batch");
    const size_t parameters = (norm.has_weight ? 1u : 0u) + (norm.has_bias ? 1u : 0u);
    for (size_t i = 1; i <= parameters; ++i) {
      if (Rows(*node.inputs[i])) return Fail("scales by other rows");
    }
    return FollowEpilogue(norm.epilogue, node, rows);
  }

  bool FollowStep(const Node& node, const ScatterStep& scatter) {
    RowDim rows, base;
    if (!FindRowDim(scatter.extents, rows) || !FindRowDim(node.outputs[0]->shape, base)) return false;
    if (!rows && !base) return FollowScatterProgram(node, scatter, rows, base);
    if (!rows || !base || Rows(*node.inputs[0]) != base) return Fail("writes other rows than its own");
    return FollowScatterProgram(node, scatter, rows, base);
  }

  // True if anything but one result is made with the instruction.
  static bool IsUsed(const LoopProgram& program, int16_t at) {
    const auto reads = [&](const LoopInstruction& user) { return user.a == at || user.b == at || user.c == at; };
    const auto looks_up = [&](const Access& access) {
      return std::any_of(access.index.begin(), access.index.end(), [&](const IndexExpression& index) { return index.dynamic == at; });
    };
    return std::any_of(program.body.begin(), program.body.end(), reads) ||
           std::any_of(program.accesses.begin(), program.accesses.end(), looks_up) ||
           std::count(program.results.begin(), program.results.end(), at) > 1;
  }

  // The target along the batch is the loop's own place there, and nothing else looks at that place.
  bool FollowScatterProgram(const Node& node, const ScatterStep& scatter, RowDim rows, RowDim base) {
    LoopProgram rest = scatter.program;
    if (base) {
      const auto target = static_cast<size_t>(rest.results[1 + *base]);
      LoopInstruction& place = rest.body[target];
      const bool own = place.op == LoopOp::kIndex && static_cast<size_t>(place.source) == *rows &&
                       scatter.extents[*rows] == node.outputs[0]->shape[*base];
      if (!own) return Fail("writes other rows than its own");
      if (IsUsed(rest, static_cast<int16_t>(target))) return Fail("computes with the row's place in the batch");
      place = {.op = LoopOp::kConstant, .dtype = DType::kInt64};
    }
    return FollowProgram(rest, node, rows, scatter.extents) && Give(node, base);
  }

  bool FollowStep(const Node& node, const SortStep&) {
    const RowDim rows = Rows(*node.inputs[0]);
    if (rows && *rows + 1 == node.inputs[0]->shape.size()) return Fail("sorts along the batch");
    return Give(node, rows);
  }

  bool FollowStep(const Node& node, const LinalgStep&) {
    const RowDim rows = Rows(*node.inputs[0]);
    for (const Value* input : node.inputs) {
      if (Rows(*input) != rows) return Fail("solves for other rows");
    }
    if (rows && *rows + 2 >= node.inputs[0]->shape.size()) return Fail("factorises along the batch");
    return Give(node, rows);
  }

  const Graph& graph_;
  const SymbolId batch_;
  std::unordered_map<const Value*, RowDim> rows_;
  std::string_view why_;
};

}  // namespace

std::string WhyRowsMix(const Graph& graph, SymbolId batch) { return RowProof(graph, batch).Run(); }

}  // namespace tondar
