// Views: the operators that only say how one value lies over another.
#ifndef TONDAR_ENGINE_IR_VIEW_H_
#define TONDAR_ENGINE_IR_VIEW_H_

#include <optional>
#include <vector>

#include "engine/ir/graph.h"
#include "engine/plan/loop_program.h"

namespace tondar {

enum class ViewKind : uint8_t { kPermute, kReshape, kExpand, kSlice, kAlias };

// A view operator's node in typed form. The output's shape is the node's.
struct View {
  ViewKind kind = ViewKind::kAlias;
  std::vector<size_t> dims;  // kPermute: the input's dim that each output dim shows
  size_t dim = 0;            // kSlice
  Dim start;                 // kSlice
  int64_t step = 1;          // kSlice
};

// nullopt if the node is no view of one input; concat is none.
std::optional<View> ViewOf(const Node& node);
// The view that makes `value`, or null.
Node* ViewMaking(const Value* value);

// Adds a view of `x` before `before` (at the end if null) and gives its result; `x` itself if there is nothing to do.
Value* AddPermute(Graph& graph, Value* x, const std::vector<size_t>& dims, Node* before);
Value* AddReshape(Graph& graph, Value* x, const Shape& shape, Node* before);
Value* AddExpand(Graph& graph, Value* x, const Shape& shape, Node* before);
Value* AddSlice(Graph& graph, Value* x, size_t dim, const Dim& start, const Dim& length, int64_t step, Node* before);

// How elements lie in memory: extents, strides in elements, position of the first.
struct StridedWindow {
  Shape shape, strides;
  Dim offset;
  friend bool operator==(const StridedWindow&, const StridedWindow&) = default;
};

// The same elements in row-major order under another shape, if strides can say it.
std::optional<Shape> ReshapeStrides(const Shape& shape, const Shape& strides, const Shape& to);
// The window that a view shows of its input's window; nullopt for a reshape that strides cannot express.
std::optional<StridedWindow> WindowThrough(const View& view, const StridedWindow& input, const Shape& output_shape);
// The reverse: the window that the view's input must have for the output to lie in `output`; nullopt if the view does
// not show every element of its input exactly once, or strides cannot express it.
std::optional<StridedWindow> WindowBefore(const View& view, const StridedWindow& output, const Shape& input_shape);

// A part of a reshape: input dims [input, input + inputs) hold the same elements as output dims [output, ...).
struct ReshapeGroup {
  size_t input = 0, inputs = 0, output = 0, outputs = 0;
};
// The finest groups that can be proved; dims of extent 1 are in none.
std::vector<ReshapeGroup> GroupReshape(const Shape& from, const Shape& to);

// Rewrites positions in the view's output to positions in its input. False if they are not affine there (index is
// then unspecified).
bool IndexThrough(const View& view, const Shape& input_shape, const Shape& output_shape,
                  std::vector<IndexExpression>& index);

}  // namespace tondar

#endif  // TONDAR_ENGINE_IR_VIEW_H_
