#include "engine/importers/onnx/graph_builder.h"

#include <deque>
#include <functional>
#include <map>
#include <set>
#include <utility>

#include "engine/importers/onnx/op_table.h"
#include "engine/importers/onnx/symbols.h"
#include "onnx.pb.h"

namespace tondar::onnx_format {
namespace {

constexpr int kMaxNesting = 50;          // of functions and branches within each other
constexpr size_t kMaxNodes = 2'000'000;  // after functions are written out

// The names that a graph, a branch or a function body sees. A branch also sees the names around it.
struct Scope {
  std::map<std::string, Tensor*, std::less<>> tensors;
  const Scope* outer = nullptr;

  Tensor* Find(std::string_view name) const {
    for (const Scope* scope = this; scope != nullptr; scope = scope->outer) {
      const auto found = scope->tensors.find(name);
      if (found != scope->tensors.end()) return found->second;
    }
    return nullptr;
  }
};

std::string_view CanonicalDomain(std::string_view domain) { return domain == "ai.onnx" ? "" : domain; }

// The release of each operator set that nodes are written for.
using Opsets = std::map<std::string, int64_t, std::less<>>;

template <typename Imports>
Opsets ReadOpsets(const Imports& imports) {
  Opsets opsets;
  for (const auto& import : imports) opsets[std::string(CanonicalDomain(import.domain()))] = import.version();
  return opsets;
}

std::string Spelled(const onnx::NodeProto& node) {
  const std::string_view domain = CanonicalDomain(node.domain());
  return domain.empty() ? node.op_type() : fmt::format("{}.{}", domain, node.op_type());
}

std::string NameOf(const onnx::NodeProto& node) {
  if (!node.name().empty()) return node.name();
  for (const std::string& output : node.output()) {
    if (!output.empty()) return output;
  }
  return node.op_type();
}

// False for what exporters write for a size that they know nothing of: equal ones are not equal sizes.
bool IsName(std::string_view param) { return !param.empty() && param != "?" && param != "-1" && param != "None"; }

using FunctionAttributes = std::map<std::string, const onnx::AttributeProto*, std::less<>>;

// Replaces references to a function's attributes by what the call gives; those without a value go. Branches included.
void Substitute(onnx::NodeProto& node, const FunctionAttributes& given) {
  auto* attributes = node.mutable_attribute();
  for (int i = attributes->size(); i-- > 0;) {
    onnx::AttributeProto& attribute = (*attributes)[i];
    if (!attribute.ref_attr_name().empty()) {
      const auto found = given.find(attribute.ref_attr_name());
      if (found == given.end()) {
        attributes->DeleteSubrange(i, 1);
        continue;
      }
      const std::string name = attribute.name();
      attribute = *found->second;
      attribute.set_name(name);
    } else if (attribute.has_g()) {
      for (onnx::NodeProto& inner : *attribute.mutable_g()->mutable_node()) Substitute(inner, given);
    }
  }
}

// The names that nodes and outputs read, those of inner graphs included. They are views of `graph`'s strings.
using Names = std::set<std::string_view>;
void CollectReadNames(const onnx::GraphProto& graph, Names& names) {
  for (const onnx::NodeProto& node : graph.node()) {
    names.insert(node.input().begin(), node.input().end());
    for (const onnx::AttributeProto& attribute : node.attribute()) {
      if (attribute.has_g()) CollectReadNames(attribute.g(), names);
      for (const onnx::GraphProto& inner : attribute.graphs()) CollectReadNames(inner, names);
    }
  }
  for (const onnx::ValueInfoProto& output : graph.output()) names.insert(output.name());
}

class ModelBuilder {
 public:
  ModelBuilder(const onnx::ModelProto& proto, Tensors& tensors, Problems& problems)
      : proto_(proto), tensors_(tensors), problems_(problems), opsets_(ReadOpsets(proto.opset_import())) {
    model_.graph = std::make_unique<Graph>();
    current_ = model_.graph.get();
  }

  ImportedModel Build() {
    model_.platform = "onnx";
    model_.producer = proto_.producer_name();
    if (!proto_.producer_version().empty()) model_.producer += (model_.producer.empty() ? "" : " ") + proto_.producer_version();
    ReadFunctions();
    CollectReadNames(proto_.graph(), read_names_);
    Scope scope;
    if (CheckOpset()) {
      AddInitializers(proto_.graph(), scope);
      AddInputs(scope);
      AddNodes(proto_.graph().node(), scope, opsets_, 0);
      AddOutputs(scope);
    }
    model_.signature.symbols = graph().symbols;
    DeriveBatching(model_.signature);
    if (problems_.empty()) graph().EraseUnusedConstants();
    return std::move(model_);
  }

 private:
  Graph& graph() { return *current_; }  // the model's, or the body that is being filled

  bool CheckOpset() {
    const auto found = opsets_.find("");
    const int64_t version = found == opsets_.end() ? 1 : found->second;
    if (version >= kOldestOpset && version <= kNewestOpset) return true;
    problems_.Unsupported(fmt::format("operator set {} of ai.onnx, expected {} to {} (onnx.version_converter converts)",
                                      version, kOldestOpset, kNewestOpset),
                          "");
    return false;
  }

  Tensor* NewTensor(Value* value = nullptr) {
    storage_.push_back(Tensor{value, std::nullopt, std::nullopt});
    return &storage_.back();
  }

  void Bind(Scope& scope, const std::string& name, Tensor* tensor) {
    if (!scope.tensors.emplace(name, tensor).second) problems_.Broken("the name '{}' is given twice", name);
  }

  // An error while `what` was read.
  void Report(const Status& status, const std::string& what) {
    if (status.code() == StatusCode::kUnimplemented) {
      problems_.Unsupported(fmt::format("{} of {}", status.message(), what), "");
    } else {
      problems_.Broken("{}: {}", what, status.message());
    }
  }

  // ---- Initializers, inputs, outputs ----

  void AddInitializers(const onnx::GraphProto& from, Scope& scope) {
    for (const onnx::TensorProto& initializer : from.initializer()) {
      const std::string& name = initializer.name();
      if (read_names_.contains(name)) {
        AddInitializer(name, tensors_.Read(initializer, name), scope);
      } else {
        AddUnused(name, tensors_.Check(initializer), scope);
      }
    }
    for (const onnx::SparseTensorProto& initializer : from.sparse_initializer()) {
      const std::string& name = initializer.values().name();
      AddInitializer(name, tensors_.ReadSparse(initializer, name), scope);
    }
  }

  // What no node reads (the float weights beside those of a quantised model, say) is never made resident.
  void AddUnused(const std::string& name, const Status& status, Scope& scope) {
    Bind(scope, name, NewTensor());
    if (!status.ok()) Report(status, fmt::format("initializer '{}'", name));
  }

  void AddInitializer(const std::string& name, Result<tondar::Constant> constant, Scope& scope) {
    Tensor* tensor = NewTensor();
    Bind(scope, name, tensor);
    if (constant.ok()) {
      tensor->value = graph().AddConstant(*std::move(constant));
    } else {
      Report(constant.status(), fmt::format("initializer '{}'", name));
    }
  }

  // An initializer may be listed as an input, too (IR version 3): a default, which the server's callers never replace.
  void AddInputs(Scope& scope) {
    Symbols symbols(graph().symbols);
    for (const onnx::ValueInfoProto& input : proto_.graph().input()) {
      const Tensor* given = scope.Find(input.name());
      const bool is_initializer = given != nullptr && initializer_names().contains(input.name());
      if (is_initializer) continue;
      Tensor* tensor = NewTensor();
      Bind(scope, input.name(), tensor);
      tensor->value = AddInput(input, symbols);
    }
  }

  const std::set<std::string>& initializer_names() {
    if (!initializer_names_) {
      initializer_names_.emplace();
      for (const auto& initializer : proto_.graph().initializer()) initializer_names_->insert(initializer.name());
      for (const auto& sparse : proto_.graph().sparse_initializer()) initializer_names_->insert(sparse.values().name());
    }
    return *initializer_names_;
  }

  Value* AddInput(const onnx::ValueInfoProto& input, Symbols& symbols) {
    const std::string what = fmt::format("input '{}'", input.name());
    if (!input.type().has_tensor_type()) {
      problems_.Unsupported(what + ", which is no tensor", "");
      return nullptr;
    }
    const onnx::TypeProto::Tensor& type = input.type().tensor_type();
    const Result<DType> dtype = DTypeOf(type.elem_type());
    if (!dtype.ok()) {
      Report(dtype.status(), what);
      return nullptr;
    }
    if (!type.has_shape() || type.shape().dim_size() > kMaxRank) {
      problems_.Unsupported(type.has_shape() ? fmt::format("rank {} of {}", type.shape().dim_size(), what)
                                             : what + " without a shape, whose rank must be known",
                            "");
      return nullptr;
    }
    Shape shape;
    for (const auto& dim : type.shape().dim()) {
      const bool outermost = shape.empty();
      if (dim.has_dim_value() && dim.dim_value() >= 0) {
        shape.push_back(dim.dim_value());
      } else if (IsName(dim.dim_param())) {
        shape.push_back(symbols.Get(dim.dim_param(), outermost));
      } else {
        shape.push_back(symbols.Fresh(fmt::format("{}_{}", input.name(), shape.size()), outermost));
      }
    }
    model_.signature.inputs.push_back({input.name(), *dtype, shape});
    return graph().AddInput(input.name(), *dtype, std::move(shape));
  }

  void AddOutputs(const Scope& scope) {
    std::set<std::string> seen;
    for (const onnx::ValueInfoProto& output : proto_.graph().output()) {
      if (!seen.insert(output.name()).second) {
        problems_.Broken("two outputs are called '{}'", output.name());
        continue;
      }
      Tensor* tensor = scope.Find(output.name());
      if (tensor == nullptr) {
        problems_.Broken("output '{}' is given by no node", output.name());
        continue;
      }
      if (tensor->failed()) continue;
      AddOutput(output, tensor);
    }
    if (proto_.graph().output().empty()) problems_.Broken("the graph has no outputs");
  }

  void AddOutput(const onnx::ValueInfoProto& output, Tensor* tensor) {
    const onnx::NodeProto reader;
    OpCall call(graph(), tensors_, reader, 1, {tensor});
    Value* value = call.In(0);
    if (value == nullptr) return Report(call.status(), fmt::format("output '{}'", output.name()));
    const int32_t declared = output.type().tensor_type().elem_type();
    const Result<DType> dtype = DTypeOf(declared);
    if (declared != 0 && (!dtype.ok() || *dtype != value->dtype)) {
      problems_.Broken("output '{}' is declared {}, but the graph gives {}", output.name(), DTypeName(declared), Name(value->dtype));
    }
    graph().outputs.push_back(value);
    model_.signature.outputs.push_back({output.name(), value->dtype, value->shape});
  }

  // ---- Nodes ----

  template <typename Nodes>
  void AddNodes(const Nodes& nodes, Scope& scope, const Opsets& opsets, int depth) {
    for (const onnx::NodeProto& node : nodes) {
      if (++node_count_ > kMaxNodes) {
        if (node_count_ == kMaxNodes + 1) problems_.Broken("more than {} nodes once functions are written out", kMaxNodes);
        return;
      }
      AddNode(node, scope, opsets, depth);
    }
  }

  void AddNode(const onnx::NodeProto& node, Scope& scope, const Opsets& opsets, int depth) {
    ++model_.source_operators[Spelled(node)];
    bool good = true;
    const std::vector<Tensor*> inputs = Inputs(node, scope, good);
    std::vector<Tensor> results = ResultsOf(node, inputs, good, scope, opsets, depth);
    for (int i = 0; i < node.output_size(); ++i) {
      if (node.output(i).empty()) continue;
      Tensor* tensor = NewTensor();
      if (static_cast<size_t>(i) < results.size()) *tensor = std::move(results[static_cast<size_t>(i)]);
      Bind(scope, node.output(i), tensor);
    }
  }

  std::vector<Tensor*> Inputs(const onnx::NodeProto& node, const Scope& scope, bool& good) {
    std::vector<Tensor*> inputs;
    for (const std::string& name : node.input()) {
      inputs.push_back(name.empty() ? nullptr : scope.Find(name));
      if (!name.empty() && inputs.back() == nullptr) {
        problems_.Broken("node '{}' ({}) uses '{}', which nothing before it gives: the graph is unsorted, cyclic or lacks it",
                         NameOf(node), Spelled(node), name);
        good = false;
      } else if (inputs.back() != nullptr && inputs.back()->failed()) {
        good = false;
      }
    }
    while (!inputs.empty() && inputs.back() == nullptr) inputs.pop_back();  // absent at the end
    return inputs;
  }

  // Empty if the node cannot be added, which is reported. `good`: all inputs are there.
  std::vector<Tensor> ResultsOf(const onnx::NodeProto& node, const std::vector<Tensor*>& inputs, bool good, Scope& scope,
                                const Opsets& opsets, int depth) {
    const std::string domain(CanonicalDomain(node.domain()));
    const auto opset = opsets.find(domain);
    const int64_t version = opset == opsets.end() ? 1 : opset->second;
    if (domain.empty() && node.op_type() == "If") return good ? AddIf(node, inputs, scope, opsets, depth) : std::vector<Tensor>();
    const OpRow* row = FindOp(domain, node.op_type());
    if (row == nullptr) {
      const auto function = functions_.find(FunctionKey(domain, node.op_type(), node.overload()));
      if (function != functions_.end()) return good ? AddFunction(node, *function->second, inputs, depth) : std::vector<Tensor>();
      problems_.Unsupported(fmt::format("operator {} (operator set {})", Spelled(node), version), NameOf(node));
      return {};
    }
    if (!good) return {};
    OpCall call(graph(), tensors_, node, version, inputs);
    AddOperator(call, *row);
    if (call.ok()) return std::move(call.results());
    ReportNode(call.status(), node);
    return {};
  }

  static void AddOperator(OpCall& call, const OpRow& row) {
    if (call.inputs() < row.min_inputs || call.inputs() > row.max_inputs) {
      return call.Fail(InvalidArgument("{} inputs, expected {} to {}", call.inputs(), row.min_inputs, row.max_inputs));
    }
    for (size_t i = 0; i < row.min_inputs; ++i) {
      if (!call.Has(i)) return call.Fail(InvalidArgument("input {} is missing", i));
    }
    if (FoldContent(call) || !call.ok()) return;
    row.add(call, row);
    for (size_t i = 0; i < call.results().size() && call.ok(); ++i) {
      if (call.Wants(i) && call.results()[i].failed()) call.Fail(Unimplemented("result {}", i));
    }
  }

  void ReportNode(const Status& status, const onnx::NodeProto& node) {
    if (status.code() == StatusCode::kInvalidArgument) {
      problems_.Broken("node '{}' ({}): {}", NameOf(node), Spelled(node), status.message());
    } else {
      problems_.Unsupported(fmt::format("operator {}: {}", Spelled(node), status.message()), NameOf(node));
    }
  }

  // ---- Functions of the model, written out ----

  static std::string FunctionKey(std::string_view domain, std::string_view name, std::string_view overload) {
    return fmt::format("{}\n{}\n{}", CanonicalDomain(domain), name, overload);
  }

  void ReadFunctions() {
    for (const onnx::FunctionProto& function : proto_.functions()) {
      functions_[FunctionKey(function.domain(), function.name(), function.overload())] = &function;
    }
  }

  std::vector<Tensor> AddFunction(const onnx::NodeProto& node, const onnx::FunctionProto& function,
                                  const std::vector<Tensor*>& inputs, int depth) {
    if (depth >= kMaxNesting) {
      problems_.Broken("function '{}' calls itself, or nests more than {} deep", function.name(), kMaxNesting);
      return {};
    }
    Scope scope;
    for (int i = 0; i < function.input_size(); ++i) {
      const size_t at = static_cast<size_t>(i);
      if (at < inputs.size() && inputs[at] != nullptr) Bind(scope, function.input(i), inputs[at]);
    }
    FunctionAttributes given;
    for (const onnx::AttributeProto& attribute : function.attribute_proto()) given[attribute.name()] = &attribute;
    for (const onnx::AttributeProto& attribute : node.attribute()) given[attribute.name()] = &attribute;
    const Opsets opsets = ReadOpsets(function.opset_import());
    for (const onnx::NodeProto& inner : function.node()) {
      onnx::NodeProto concrete = inner;
      Substitute(concrete, given);
      DropAbsent(concrete, function, scope);
      bodies_.push_back(std::move(concrete));
      if (++node_count_ > kMaxNodes) break;
      AddNode(bodies_.back(), scope, opsets, depth + 1);
      bodies_.pop_back();
    }
    std::vector<Tensor> results;
    for (const std::string& output : function.output()) {
      const Tensor* tensor = scope.Find(output);
      if (tensor == nullptr) problems_.Broken("function '{}' never gives its output '{}'", function.name(), output);
      results.push_back(tensor == nullptr ? Tensor() : *tensor);
    }
    return results;
  }

  // An optional input that the call leaves out is absent wherever the body passes it on.
  static void DropAbsent(onnx::NodeProto& node, const onnx::FunctionProto& function, const Scope& scope) {
    for (std::string& name : *node.mutable_input()) {
      const bool formal = std::find(function.input().begin(), function.input().end(), name) != function.input().end();
      if (formal && scope.Find(name) == nullptr) name.clear();
    }
  }

  // ---- Branches ----

  std::vector<Tensor> AddIf(const onnx::NodeProto& node, const std::vector<Tensor*>& inputs, const Scope& scope,
                            const Opsets& opsets, int depth) {
    OpCall call(graph(), tensors_, node, 1, inputs);
    const std::optional<double> condition = call.KnownNumber(0);
    if (!condition) return AddCond(call, node, scope, opsets, depth);
    const onnx::AttributeProto* branch = call.Attribute(*condition != 0 ? "then_branch" : "else_branch");
    if (branch == nullptr || !branch->has_g() || depth >= kMaxNesting) {
      problems_.Broken("node '{}' (If) has no such branch, or nests more than {} deep", NameOf(node), kMaxNesting);
      return {};
    }
    Scope inner{.tensors = {}, .outer = &scope};
    return AddBranch(branch->g(), node, inner, opsets, depth);
  }

  std::vector<Tensor> AddBranch(const onnx::GraphProto& branch, const onnx::NodeProto& node, Scope& scope, const Opsets& opsets,
                                int depth) {
    AddInitializers(branch, scope);
    AddNodes(branch.node(), scope, opsets, depth + 1);
    std::vector<Tensor> results;
    for (const onnx::ValueInfoProto& output : branch.output()) {
      const Tensor* tensor = scope.Find(output.name());
      if (tensor == nullptr) problems_.Broken("a branch of node '{}' (If) never gives its output '{}'", NameOf(node), output.name());
      results.push_back(tensor == nullptr ? Tensor() : *tensor);
    }
    return results;
  }

  // A condition that the data decide: both branches become bodies, which take what they read of the names around them.
  std::vector<Tensor> AddCond(OpCall& call, const onnx::NodeProto& node, const Scope& scope, const Opsets& opsets, int depth) {
    const onnx::AttributeProto *yes = call.Attribute("then_branch"), *no = call.Attribute("else_branch");
    if (yes == nullptr || no == nullptr || !yes->has_g() || !no->has_g() || depth >= kMaxNesting) {
      problems_.Broken("node '{}' (If) lacks a branch, or nests more than {} deep", NameOf(node), kMaxNesting);
      return {};
    }
    Value* decision = call.Cast(call.Reshape(call.In(0), {}), DType::kBool);
    if (!call.ok()) {
      ReportNode(call.status(), node);
      return {};
    }
    Names read;
    CollectReadNames(yes->g(), read);
    CollectReadNames(no->g(), read);
    std::vector<Value*> inputs = {decision};
    std::vector<std::unique_ptr<Graph>> bodies;
    for (const onnx::AttributeProto* branch : {yes, no}) {
      inputs.resize(1);
      std::unique_ptr<Graph> body = AddBody(branch->g(), node, read, scope, opsets, depth, inputs);
      if (body == nullptr) return {};
      bodies.push_back(std::move(body));
    }
    return GiveBodies(node, std::move(inputs), std::move(bodies));
  }

  // Null if something of the body failed, which is reported. Adds to `inputs` what the body takes.
  std::unique_ptr<Graph> AddBody(const onnx::GraphProto& branch, const onnx::NodeProto& node, const Names& read, const Scope& outer,
                                 const Opsets& opsets, int depth, std::vector<Value*>& inputs) {
    auto body = std::make_unique<Graph>();
    body->name = branch.name();
    body->symbols = graph().symbols;
    Scope scope;
    for (std::string_view name : read) {
      if (const Tensor* tensor = outer.Find(name)) Bind(scope, std::string(name), Bring(*body, *tensor, inputs));
    }
    Graph* const around = std::exchange(current_, body.get());
    const std::vector<Tensor> results = AddBranch(branch, node, scope, opsets, depth);
    bool good = true;
    for (const Tensor& result : results) {
      Tensor tensor = result;
      OpCall give(graph(), tensors_, node, 1, {&tensor});
      Value* value = tensor.failed() ? nullptr : give.In(0);
      good = good && value != nullptr;
      body->outputs.push_back(value);
    }
    current_ = around;
    return good ? std::move(body) : nullptr;
  }

  // A tensor of the names around a body, within it.
  Tensor* Bring(Graph& body, const Tensor& tensor, std::vector<Value*>& inputs) {
    Tensor* inner = NewTensor();
    *inner = tensor;
    if (tensor.value == nullptr) return inner;
    if (tensor.value->IsConstant()) {
      inner->value = body.AddConstant(*tensor.value->constant);
    } else {
      inner->value = body.AddInput(tensor.value->name, tensor.value->dtype, tensor.value->shape);
      inputs.push_back(tensor.value);
    }
    return inner;
  }

  std::vector<Tensor> GiveBodies(const onnx::NodeProto& node, std::vector<Value*> inputs, std::vector<std::unique_ptr<Graph>> bodies) {
    const std::vector<Value*>&yes = bodies[0]->outputs, &no = bodies[1]->outputs;
    bool fits = yes.size() == no.size();
    for (size_t i = 0; fits && i < yes.size(); ++i) fits = yes[i]->dtype == no[i]->dtype && yes[i]->shape == no[i]->shape;
    if (!fits) {
      problems_.Unsupported("operator If whose branches give tensors of different shapes or dtypes", NameOf(node));
      return {};
    }
    Node* made = graph().AddNode(kCondOp, NameOf(node), std::move(inputs));
    made->segments = {static_cast<int>(made->inputs.size())};
    std::vector<Tensor> results;
    for (const Value* value : yes) results.push_back({.value = graph().AddOutput(made, "", value->dtype, value->shape)});
    made->subgraphs = std::move(bodies);
    return results;
  }

  const onnx::ModelProto& proto_;
  Tensors& tensors_;
  Problems& problems_;
  const Opsets opsets_;
  ImportedModel model_;
  Graph* current_ = nullptr;
  std::map<std::string, const onnx::FunctionProto*> functions_;
  std::optional<std::set<std::string>> initializer_names_;
  Names read_names_;
  std::deque<Tensor> storage_;           // addresses are stable
  std::deque<onnx::NodeProto> bodies_;   // nodes of functions while they are written out
  size_t node_count_ = 0;
};

}  // namespace

ImportedModel BuildModel(const onnx::ModelProto& model, Tensors& tensors, Problems& problems) {
  return ModelBuilder(model, tensors, problems).Build();
}

}  // namespace tondar::onnx_format
