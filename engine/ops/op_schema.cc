#include "engine/ops/op_schema.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <limits>

namespace tondar {
namespace {

using Kind = Formal::Kind;

std::string_view Trim(std::string_view text) {
  while (!text.empty() && text.front() == ' ') text.remove_prefix(1);
  while (!text.empty() && text.back() == ' ') text.remove_suffix(1);
  return text;
}

// Splits at commas outside brackets.
std::vector<std::string_view> SplitList(std::string_view text) {
  std::vector<std::string_view> parts;
  size_t begin = 0;
  int depth = 0;
  for (size_t i = 0; i <= text.size(); ++i) {
    const char c = i < text.size() ? text[i] : ',';
    if (c == '(' || c == '[') ++depth;
    if (c == ')' || c == ']') --depth;
    if (c != ',' || (depth > 0 && i < text.size())) continue;
    if (const std::string_view part = Trim(text.substr(begin, i - begin)); !part.empty()) parts.push_back(part);
    begin = i + 1;
  }
  return parts;
}

template <typename T>
std::optional<T> ParseNumber(std::string_view text) {
  T value{};
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end != text.data() + text.size()) return std::nullopt;
  return value;
}

// "Tensor(a!)?" -> "Tensor?".
std::string WithoutAlias(std::string_view type) {
  std::string plain;
  int depth = 0;
  for (char c : type) {
    if (c == '(') ++depth;
    if (depth == 0) plain += c;
    if (c == ')') --depth;
  }
  return plain;
}

Kind KindOfType(std::string_view type) {
  if (type == "Tensor") return Kind::kTensor;
  if (type == "Tensor?") return Kind::kOptionalTensor;
  if (type == "Tensor[]") return Kind::kTensorList;
  if (type == "Tensor?[]") return Kind::kOptionalTensorList;
  return Kind::kAttribute;
}

// How many equal elements a plain default of "int[2]" stands for.
int64_t ListLength(std::string_view type) {
  const size_t open = type.find('['), close = type.find(']');
  if (open == std::string_view::npos) return 0;
  return ParseNumber<int64_t>(type.substr(open + 1, close - open - 1)).value_or(1);
}

std::optional<Attribute> ParseList(std::string_view type, std::string_view text) {
  const std::vector<std::string_view> parts = SplitList(text.substr(1, text.size() - 2));
  if (type.starts_with("float")) {
    std::vector<double> values;
    for (std::string_view part : parts) values.push_back(ParseNumber<double>(part).value_or(0));
    return values;
  }
  Shape values;
  for (std::string_view part : parts) {
    const auto value = ParseNumber<int64_t>(part);
    if (!value) return std::nullopt;
    values.push_back(*value);
  }
  return values;
}

std::optional<Attribute> ParseDefault(std::string_view type, std::string_view text) {
  if (text == "None") return Attribute(std::monostate());
  if (text == "True" || text == "False") return Attribute(text == "True");
  if (text.size() >= 2 && text.front() == '[') return ParseList(type, text);
  if (text.size() >= 2 && (text.front() == '"' || text.front() == '\'')) {
    return Attribute(std::string(text.substr(1, text.size() - 2)));
  }
  if (text == "inf") return Attribute(std::numeric_limits<double>::infinity());
  if (type.starts_with("float")) {
    if (auto value = ParseNumber<double>(text)) return Attribute(*value);
    return std::nullopt;
  }
  if (auto value = ParseNumber<int64_t>(text)) {
    if (type.find('[') != std::string_view::npos) return Attribute(Shape(static_cast<size_t>(ListLength(type)), Dim(*value)));
    return Attribute(Dim(*value));
  }
  if (auto value = ParseNumber<double>(text)) return Attribute(*value);
  if (type.starts_with("ScalarType")) {
    if (text == "long") return Attribute(DType::kInt64);
    if (text == "float") return Attribute(DType::kFloat32);
    if (auto dtype = DTypeFromName(text)) return Attribute(*dtype);
    return std::nullopt;
  }
  return Attribute(std::string(text));  // an enumerator's name: "contiguous_format"
}

Result<Formal> ParseFormal(std::string_view text) {
  Formal formal;
  const size_t equals = text.find('=');
  const std::string_view head = Trim(text.substr(0, equals));
  const size_t space = head.rfind(' ');
  if (space == std::string_view::npos) return InvalidArgument("signature: '{}' has no type or no name", text);
  formal.type = WithoutAlias(Trim(head.substr(0, space)));
  formal.name = head.substr(space + 1);
  formal.kind = KindOfType(formal.type);
  if (equals == std::string_view::npos) return formal;
  formal.has_default = true;
  const auto value = ParseDefault(formal.type, Trim(text.substr(equals + 1)));
  if (!value) return InvalidArgument("signature: '{}' has an unreadable default", text);
  formal.default_value = *value;
  return formal;
}

bool IsTensor(const Formal& formal) { return formal.kind != Kind::kAttribute; }
bool IsList(const Formal& formal) {
  return formal.kind == Kind::kTensorList || formal.kind == Kind::kOptionalTensorList;
}

const Formal* FindFormal(const std::vector<Formal>& formals, std::string_view name) {
  const auto found = std::find_if(formals.begin(), formals.end(), [&](const Formal& f) { return f.name == name; });
  return found == formals.end() ? nullptr : &*found;
}

// The inputs that the tensor formal `name` took.
std::span<Value* const> InputsOf(const Node& node, const std::vector<Formal>& formals, std::string_view name) {
  size_t begin = 0, ordinal = 0;
  for (const Formal& formal : formals) {
    if (!IsTensor(formal)) continue;
    const size_t count = ordinal < node.segments.size() ? static_cast<size_t>(node.segments[ordinal]) : 0;
    if (formal.name == name) return std::span<Value* const>(node.inputs).subspan(begin, count);
    begin += count;
    ++ordinal;
  }
  return {};
}

}  // namespace

Result<std::vector<Formal>> ParseSignature(std::string_view signature) {
  const std::string_view text = Trim(signature);
  if (text.size() < 2 || text.front() != '(' || text.back() != ')') {
    return InvalidArgument("signature '{}' is not an argument list in parentheses", signature);
  }
  std::vector<Formal> formals;
  for (std::string_view part : SplitList(text.substr(1, text.size() - 2))) {
    if (part == "*") continue;
    TONDAR_ASSIGN_OR_RETURN(Formal formal, ParseFormal(part));
    formals.push_back(std::move(formal));
  }
  return formals;
}

namespace {

const OpSchema& SchemaOf(const Node& node) {
  const OpSchema* schema = OpRegistry::Get().Find(node.op);
  TONDAR_CHECK(schema != nullptr, "node '{}' has the unknown operator '{}'", node.name, node.op);
  return *schema;
}

}  // namespace

Arguments::Arguments(const Node& node) : node_(node), formals_(OpRegistry::Get().FormalsOf(SchemaOf(node))) {}

Value* Arguments::Tensor(std::string_view name) const {
  const Formal* formal = FindFormal(formals_, name);
  TONDAR_CHECK(formal != nullptr && IsTensor(*formal) && !IsList(*formal), "{} has no tensor '{}'", node_.op, name);
  const auto inputs = InputsOf(node_, formals_, name);
  return inputs.empty() ? nullptr : inputs[0];
}

std::vector<Value*> Arguments::Tensors(std::string_view name) const {
  const Formal* formal = FindFormal(formals_, name);
  TONDAR_CHECK(formal != nullptr && IsList(*formal), "{} has no tensor list '{}'", node_.op, name);
  const auto inputs = InputsOf(node_, formals_, name);
  return {inputs.begin(), inputs.end()};
}

const Attribute& Arguments::Raw(std::string_view name) const {
  if (const Attribute* attribute = node_.Find(name)) return *attribute;
  static const Attribute kNone;
  const Formal* formal = FindFormal(formals_, name);
  TONDAR_CHECK(formal != nullptr, "{} has no argument '{}'", node_.op, name);
  return formal->has_default ? formal->default_value : kNone;
}

bool Arguments::IsNone(std::string_view name) const { return std::holds_alternative<std::monostate>(Raw(name)); }

bool Arguments::Bool(std::string_view name) const {
  const Attribute& raw = Raw(name);
  if (const bool* value = std::get_if<bool>(&raw)) return *value;
  const Dim* value = std::get_if<Dim>(&raw);
  return value != nullptr && !value->Is(0);
}

Dim Arguments::Size(std::string_view name) const {
  const Attribute& raw = Raw(name);
  if (const Dim* value = std::get_if<Dim>(&raw)) return *value;
  if (const bool* value = std::get_if<bool>(&raw)) return Dim(*value ? 1 : 0);
  if (const double* value = std::get_if<double>(&raw)) return Dim(static_cast<int64_t>(*value));
  const Shape* list = std::get_if<Shape>(&raw);
  TONDAR_CHECK(list != nullptr && list->size() == 1, "{} '{}': argument '{}' is no integer", node_.op, node_.name, name);
  return (*list)[0];
}

int64_t Arguments::Int(std::string_view name) const { return Size(name).constant(); }

double Arguments::Number(std::string_view name) const {
  const Attribute& raw = Raw(name);
  if (const double* value = std::get_if<double>(&raw)) return *value;
  if (const bool* value = std::get_if<bool>(&raw)) return *value ? 1 : 0;
  const Dim* value = std::get_if<Dim>(&raw);
  TONDAR_CHECK(value != nullptr, "{} '{}': argument '{}' is no number", node_.op, node_.name, name);
  return static_cast<double>(value->constant());
}

Shape Arguments::Sizes(std::string_view name) const {
  const Attribute& raw = Raw(name);
  if (const Shape* list = std::get_if<Shape>(&raw)) return *list;
  if (const Dim* value = std::get_if<Dim>(&raw)) return {*value};
  return {};
}

std::vector<int64_t> Arguments::Ints(std::string_view name) const {
  std::vector<int64_t> values;
  for (const Dim& value : Sizes(name)) values.push_back(value.constant());
  return values;
}

std::string Arguments::String(std::string_view name) const {
  const std::string* value = std::get_if<std::string>(&Raw(name));
  return value == nullptr ? std::string() : *value;
}

DType Arguments::Type(std::string_view name) const {
  const DType* value = std::get_if<DType>(&Raw(name));
  return value == nullptr ? DType::kInvalid : *value;
}

void SetOutput(Node& node, size_t index, DType dtype, Shape shape) {
  if (index == node.outputs.size()) {
    node.graph->AddOutput(&node, index == 0 ? node.name : fmt::format("{}_{}", node.name, index), dtype,
                          std::move(shape));
    return;
  }
  node.outputs[index]->dtype = dtype;
  node.outputs[index]->shape = std::move(shape);
}

namespace {

// A shape with a symbolic argument where the operator needs a number, for instance, must not end the process.
Status CheckArguments(const Node& node, const std::vector<Formal>& formals) {
  for (const Formal& formal : formals) {
    if (IsTensor(formal)) continue;
    const Attribute* attribute = node.Find(formal.name);
    const bool plain_int = formal.type.starts_with("int") || formal.type.starts_with("bool");
    if (attribute == nullptr) {
      if (!formal.has_default) return InvalidArgument("argument '{}' is missing", formal.name);
      continue;
    }
    auto symbolic = [](const Dim& value) { return !value.IsConstant(); };
    const Dim* number = std::get_if<Dim>(attribute);
    const Shape* list = std::get_if<Shape>(attribute);
    if (plain_int && ((number && symbolic(*number)) || (list && std::any_of(list->begin(), list->end(), symbolic)))) {
      return Unimplemented("argument '{}' depends on a symbolic size", formal.name);
    }
  }
  return OkStatus();
}

Status CheckTensors(const Node& node, const std::vector<Formal>& formals) {
  for (const Formal& formal : formals) {
    if (!IsTensor(formal)) continue;
    const auto inputs = InputsOf(node, formals, formal.name);
    if (IsList(formal)) continue;
    if (inputs.size() > 1) return InvalidArgument("argument '{}' has {} tensors", formal.name, inputs.size());
    const bool absent = inputs.empty() || inputs[0] == nullptr;
    if (absent && formal.kind == Kind::kTensor && node.Find(formal.name) == nullptr) {
      return InvalidArgument("tensor '{}' is missing", formal.name);
    }
  }
  return OkStatus();
}

Status InferChecked(Node& node, const OpSchema& schema) {
  const std::vector<Formal>& formals = OpRegistry::Get().FormalsOf(schema);
  TONDAR_RETURN_IF_ERROR(CheckTensors(node, formals));
  TONDAR_RETURN_IF_ERROR(CheckArguments(node, formals));
  if (schema.infer == nullptr) return Internal("the operator has no inference");
  return schema.infer(node);
}

}  // namespace

Status InferNode(Node& node) {
  const OpSchema& schema = SchemaOf(node);
  TONDAR_RETURN_IF_ERROR(InferChecked(node, schema).Annotated(fmt::format("{} '{}'", node.op, node.name)));
  TONDAR_CHECK(schema.results < 0 || static_cast<size_t>(schema.results) == node.outputs.size(), "{} made {} results",
               node.op, node.outputs.size());
  for (const Value* output : node.outputs) {
    if (output->shape.size() > static_cast<size_t>(kMaxRank)) {
      return Unimplemented("{} '{}': rank {} is above {}", node.op, node.name, output->shape.size(), kMaxRank);
    }
  }
  return OkStatus();
}

Result<Node*> AddOp(Graph& graph, std::string_view op, std::string_view name, std::vector<Value*> inputs,
                    std::vector<int> segments, Attributes attributes, Node* before) {
  if (OpRegistry::Get().Find(op) == nullptr) return NotFound("operator '{}' is unknown", op);
  Node* node = graph.AddNode(op, name, std::move(inputs), before);
  if (!segments.empty()) node->segments = std::move(segments);
  node->attributes = std::move(attributes);
  Status status = InferNode(*node);
  if (status.ok()) return node;
  graph.Erase(node);
  return status;
}

namespace {

// A node's arguments by name, between two forms.
struct NamedArguments {
  std::map<std::string, std::vector<Value*>, std::less<>> tensors;
  Attributes attributes;
};

std::string_view Renamed(const SourceForm& form, std::string_view name) {
  for (const auto& [from, to] : form.renames) {
    if (from == name) return to;
  }
  return name;
}

Result<NamedArguments> ByName(const OpRegistry::Source& source, const std::vector<Value*>& inputs,
                              std::vector<int> segments, Attributes attributes) {
  NamedArguments named;
  if (segments.empty()) segments.assign(inputs.size(), 1);
  size_t begin = 0, ordinal = 0;
  for (const Formal& formal : *source.formals) {
    const std::string name(Renamed(*source.form, formal.name));
    if (auto given = attributes.find(formal.name); given != attributes.end()) {
      named.attributes[name] = std::move(given->second);
    } else if (formal.has_default && !IsTensor(formal)) {
      named.attributes[name] = formal.default_value;
    }
    if (!IsTensor(formal) || ordinal >= segments.size()) continue;
    const size_t count = static_cast<size_t>(segments[ordinal++]);
    if (begin + count > inputs.size()) return InvalidArgument("too few tensors for '{}'", formal.name);
    named.tensors[name].assign(inputs.begin() + static_cast<ptrdiff_t>(begin),
                               inputs.begin() + static_cast<ptrdiff_t>(begin + count));
    begin += count;
  }
  return named;
}

// Orders the arguments as the own form does; what it does not know (layouts, momenta) is left out.
void Arrange(Node& node, const std::vector<Formal>& own, NamedArguments& named) {
  std::vector<Value*> inputs;
  std::vector<int> segments;
  for (const Formal& formal : own) {
    if (auto attribute = named.attributes.find(formal.name); attribute != named.attributes.end()) {
      const bool none = std::holds_alternative<std::monostate>(attribute->second);
      if (!(IsTensor(formal) && none)) node.attributes[formal.name] = attribute->second;
    }
    if (!IsTensor(formal)) continue;
    const auto tensors = named.tensors.find(formal.name);
    if (tensors != named.tensors.end()) {
      segments.push_back(static_cast<int>(tensors->second.size()));
      inputs.insert(inputs.end(), tensors->second.begin(), tensors->second.end());
    } else {
      segments.push_back(1);
      inputs.push_back(nullptr);
    }
  }
  node.graph->SetInputs(&node, std::move(inputs));
  node.segments = std::move(segments);
}

// An in-place operator's result has the dtype of what it overwrites.
Result<Node*> InPlaceDType(Graph& graph, Node* node, const SourceForm& form, Node* before) {
  if (form.writes < 0 || node->outputs.empty()) return node;
  const Value* overwritten = node->inputs[static_cast<size_t>(form.writes)];
  if (overwritten == nullptr || overwritten->dtype == node->outputs[0]->dtype) return node;
  return AddOp(graph, "cast", node->name, {node->outputs[0]}, {}, {{"dtype", overwritten->dtype}}, before);
}

}  // namespace

Result<Node*> AddSourceOp(Graph& graph, std::string_view source_name, std::string_view name,
                          std::vector<Value*> inputs, std::vector<int> segments, Attributes attributes, Node* before) {
  const OpRegistry::Source source = OpRegistry::Get().FindSource(source_name);
  if (source.schema == nullptr) return NotFound("operator '{}' is unknown", source_name);
  TONDAR_ASSIGN_OR_RETURN(NamedArguments named, ByName(source, inputs, std::move(segments), std::move(attributes)));
  Node* node = graph.AddNode(source.schema->name, name, {}, before);
  Arrange(*node, OpRegistry::Get().FormalsOf(*source.schema), named);
  Status status = source.form->adapt == nullptr ? OkStatus() : source.form->adapt(*node, named.attributes);
  if (status.ok()) status = InferNode(*node);
  if (status.ok()) return InPlaceDType(graph, node, *source.form, before);
  graph.Erase(node);
  return status.Annotated(source_name);
}

}  // namespace tondar
