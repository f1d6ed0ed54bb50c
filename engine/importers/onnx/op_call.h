// OpCall: one node of a model while it becomes nodes of a Graph; what an operator's row works with.
#ifndef TONDAR_ENGINE_IMPORTERS_ONNX_OP_CALL_H_
#define TONDAR_ENGINE_IMPORTERS_ONNX_OP_CALL_H_

#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "engine/importers/onnx/content.h"
#include "engine/importers/onnx/tensors.h"
#include "engine/ir/graph.h"

namespace onnx {
class AttributeProto;
class GraphProto;
class NodeProto;
}  // namespace onnx

namespace tondar::onnx_format {

// A tensor by its name in the model: a value of the graph, known content, or both; neither if the node that should
// give it failed, which has been reported.
struct Tensor {
  Value* value = nullptr;
  std::optional<Content> content;
  std::optional<bool> no_content;  // the value has been looked at in vain

  bool failed() const { return value == nullptr && !content; }
};

// Failure is sticky: after the first one every emission gives null and does nothing, so that an operator's row reads
// as a formula. What looks into a tensor that an emission gave uses Rank, Extent and Extents, which stand null.
class OpCall {
 public:
  // `inputs` runs parallel to the node's, null where the name is empty; none has failed.
  OpCall(Graph& graph, Tensors& tensors, const onnx::NodeProto& node, int64_t version, std::vector<Tensor*> inputs);

  Graph& graph() { return graph_; }
  Tensors& tensors() { return tensors_; }
  const onnx::NodeProto& node() const { return node_; }
  int64_t version() const { return version_; }  // of the operator set that the node's domain is imported at
  std::string name() const;  // of the node, or of its first output
  std::string_view node_type() const;

  // --- Inputs
  size_t inputs() const { return inputs_.size(); }
  bool Has(size_t i) const { return i < inputs_.size() && inputs_[i] != nullptr; }
  Value* In(size_t i);  // null where absent; makes a value of what is only known content
  // All present inputs from `first` on.
  std::vector<Value*> InputsFrom(size_t first = 0);
  DType TypeOf(size_t i) const;
  Shape ShapeOf(size_t i) const;
  const Content* Known(size_t i);                             // null if absent or not known
  std::optional<Shape> KnownDims(size_t i);                   // whole numbers, maybe symbolic
  std::optional<std::vector<int64_t>> KnownInts(size_t i);    // whole constants
  std::optional<double> KnownNumber(size_t i);                // one constant

  // Fails with "input <i> must be known when the model is loaded" if the optional is empty.
  Shape RequireDims(size_t i, std::string_view what);
  std::vector<int64_t> RequireInts(size_t i, std::string_view what);
  double RequireNumber(size_t i, std::string_view what);

  // --- Attributes
  const onnx::AttributeProto* Attribute(std::string_view name) const;
  bool HasAttribute(std::string_view name) const { return Attribute(name) != nullptr; }
  int64_t Int(std::string_view name, int64_t otherwise) const;
  double Float(std::string_view name, double otherwise) const;
  std::string String(std::string_view name, std::string_view otherwise) const;
  std::vector<int64_t> Ints(std::string_view name) const;  // empty if absent
  std::vector<double> Floats(std::string_view name) const;
  std::vector<std::string> Strings(std::string_view name) const;
  // A list that is an attribute before `since` and input number `i` from then on; nullopt if absent.
  std::optional<std::vector<int64_t>> IntsOrInput(std::string_view name, size_t i, int64_t since);

  // --- Emission
  Value* Op(std::string_view op, std::vector<Value*> inputs, Attributes attributes = {}, std::vector<int> segments = {});
  // All results of an operator; `count` nulls after a failure.
  std::vector<Value*> Ops(size_t count, std::string_view op, std::vector<Value*> inputs, Attributes attributes = {},
                          std::vector<int> segments = {});
  Value* Constant(tondar::Constant constant);
  Value* Scalar(double number, DType dtype);
  Value* Cast(Value* x, DType dtype);
  Value* Reshape(Value* x, Shape shape);
  Value* Expand(Value* x, Shape shape);
  Value* Permute(Value* x, std::vector<int64_t> dims);
  Value* Concat(std::vector<Value*> xs, int64_t dim);
  Value* Slice(Value* x, size_t dim, Dim start, Dim length, int64_t step = 1);
  Value* Materialise(const Content& content);

  static size_t Rank(const Value* x) { return x == nullptr ? 0 : x->shape.size(); }
  static Shape Extents(const Value* x) { return x == nullptr ? Shape() : x->shape; }
  static Dim Extent(const Value* x, size_t dim) { return dim < Rank(x) ? x->shape[dim] : Dim(1); }
  // A dim that may count from the end. Fails if it is out of range.
  size_t Axis(int64_t axis, size_t rank);
  std::vector<size_t> Axes(const std::vector<int64_t>& axes, size_t rank);

  // --- Results
  bool Wants(size_t i) const;  // the node names this output
  void Give(Value* value, size_t i = 0);
  void Give(Content content, size_t i = 0);
  // What was given; outputs that no row gave are failed tensors.
  std::vector<Tensor>& results() { return results_; }

  void Fail(Status status);
  bool ok() const { return status_.ok(); }
  const Status& status() const { return status_; }

 private:
  Graph& graph_;
  Tensors& tensors_;
  const onnx::NodeProto& node_;
  const int64_t version_;
  std::vector<Tensor*> inputs_;
  std::vector<Tensor> results_;
  Status status_;
};

}  // namespace tondar::onnx_format

#endif  // TONDAR_ENGINE_IMPORTERS_ONNX_OP_CALL_H_
