// ToText and ParseGraph.
#include <algorithm>

#include "engine/ir/attribute_text.h"
#include "engine/ir/element.h"
#include "engine/ir/graph.h"
#include "engine/ir/step_text.h"
#include "engine/ir/text_scanner.h"

namespace tondar {
namespace {

// Constants with more elements print their values only if all are equal.
constexpr int64_t kMaxPrintedElements = 64;
constexpr std::string_view kStepPrefix = "step.";

std::string ElementText(const Element& element) {
  if (const double* number = std::get_if<double>(&element)) return NumberText(*number);
  return fmt::format("{}", std::get<int64_t>(element));
}

std::string ConstantText(const Value& value) {
  const TensorView& view = value.constant->view;
  std::string text;
  if (!view.contiguous()) text += " strides " + ToString(view.strides);
  if (!HasElements(view.dtype) || view.elements() == 0) return text;
  if (const auto element = UniformElement(value)) return text + " = " + ElementText(*element);
  if (view.elements() > kMaxPrintedElements) return text;
  text += " = {";
  for (int64_t i = 0; i < view.elements(); ++i) text += (i > 0 ? ", " : "") + ElementText(ReadElement(view, i));
  return text + "}";
}

class Printer {
 public:
  // Graphs of nodes use their parent's symbols where they have none of their own.
  Printer(const Graph& graph, std::span<const SymbolInfo> symbols, std::string indent)
      : graph_(graph), symbols_(graph.symbols.empty() ? symbols : graph.symbols), indent_(std::move(indent)) {}

  std::string Run() {
    for (const SymbolInfo& symbol : graph_.symbols) {
      const std::string max = symbol.max == INT64_MAX ? "inf" : fmt::format("{}", symbol.max);
      Line(fmt::format("symbol {} [{}, {}]", symbol.name, symbol.min, max));
    }
    for (const Value* input : graph_.inputs) Line("input " + Typed(*input));
    for (const Value* constant : graph_.constants()) Line("constant " + Typed(*constant) + ConstantText(*constant));
    for (const auto& node : graph_.nodes()) Line(NodeText(*node));
    for (const ShapeCheck& check : graph_.checks) {
      Line(fmt::format("check {} == {} {}", check.left.ToString(symbols_), check.right.ToString(symbols_), Quote(check.where)));
    }
    for (size_t i = 0; i < graph_.states.size(); ++i) {
      Line(fmt::format("state {} {}", Quote(graph_.states[i].name), ValueText(graph_.inputs[graph_.user_inputs() + i]->name)));
    }
    for (SymbolId symbol : graph_.data_symbols) Line("size " + Dim::Symbol(symbol).ToString(symbols_));
    Line("return " + Names(graph_.outputs));
    return fmt::format("graph {} {{\n{}{}}}", Quote(graph_.name), text_, indent_);
  }

 private:
  void Line(const std::string& line) { text_ += indent_ + "  " + line + "\n"; }

  std::string Typed(const Value& value) const {
    return fmt::format("{}: {} {}", ValueText(value.name), Name(value.dtype), ToString(value.shape, symbols_));
  }

  static std::string Names(std::span<Value* const> values) {
    std::string text;
    for (const Value* value : values) {
      if (!text.empty()) text += ", ";
      text += value == nullptr ? "_" : ValueText(value->name);
    }
    return text;
  }

  std::string NodeText(const Node& node) const {
    std::string text;
    for (const Value* output : node.outputs) text += (text.empty() ? "" : ", ") + Typed(*output);
    if (!text.empty()) text += " = ";
    text += node.IsStep() ? fmt::format("{}{}", kStepPrefix, Name(KindOf(*node.body))) : node.op;
    if (node.outputs.empty() || node.outputs[0]->name != node.name) text += " " + Quote(node.name) + " ";
    StepText step;
    if (node.IsStep()) step = TakeApart(*node.body);
    text += "(" + ArgumentText(node, node.IsStep() ? step.parameters : node.attributes) + ")";
    for (const auto& [name, program] : step.programs) {
      text += fmt::format(" {} {}", name, ProgramText(*program, symbols_, indent_ + "  "));
    }
    for (const auto& subgraph : node.subgraphs) text += " " + Printer(*subgraph, symbols_, indent_ + "  ").Run();
    return text;
  }

  std::string ArgumentText(const Node& node, const Attributes& attributes) const {
    std::string text;
    auto add = [&text](const std::string& part) { text += text.empty() ? part : ", " + part; };
    size_t at = 0;
    for (int segment : node.segments) {
      const std::span<Value* const> part(node.inputs.data() + at, static_cast<size_t>(segment));
      add(segment == 1 ? Names(part) : "[" + Names(part) + "]");
      at += static_cast<size_t>(segment);
    }
    for (const auto& [name, value] : attributes) add(name + "=" + ToString(value, symbols_));
    return text;
  }

  const Graph& graph_;
  std::span<const SymbolInfo> symbols_;
  std::string indent_;
  std::string text_;
};

class Parser {
 public:
  Parser(TextScanner& scanner, std::span<const SymbolInfo> symbols) : scanner_(scanner), outer_(symbols) {}

  Result<std::unique_ptr<Graph>> Run() {
    TONDAR_RETURN_IF_ERROR(scanner_.Expect("graph"));
    const std::string_view name = scanner_.Word();
    graph_->name = name;
    if (name.empty()) {
      TONDAR_ASSIGN_OR_RETURN(graph_->name, scanner_.Quoted());
    }
    TONDAR_RETURN_IF_ERROR(scanner_.Expect("{"));
    while (!scanner_.TakeWord("return")) TONDAR_RETURN_IF_ERROR(Line());
    if (!scanner_.Take("}")) {
      do {
        TONDAR_ASSIGN_OR_RETURN(Value * output, Use());
        graph_->outputs.push_back(output);
      } while (scanner_.Take(","));
      TONDAR_RETURN_IF_ERROR(scanner_.Expect("}"));
    }
    return std::move(graph_);
  }

 private:
  struct Typed {
    std::string name;
    DType dtype = DType::kInvalid;
    Shape shape;
  };

  std::span<const SymbolInfo> Symbols() const {
    return graph_->symbols.empty() ? outer_ : std::span<const SymbolInfo>(graph_->symbols);
  }

  Status Line() {
    if (scanner_.TakeWord("symbol")) return Symbol();
    if (scanner_.TakeWord("input")) {
      TONDAR_ASSIGN_OR_RETURN(Typed typed, Type());
      return Define(typed.name, graph_->AddInput(typed.name, typed.dtype, typed.shape));
    }
    if (scanner_.TakeWord("constant")) return ConstantLine();
    if (scanner_.TakeWord("check")) return Check();
    if (scanner_.TakeWord("state")) return StateLine();
    if (scanner_.TakeWord("size")) return SizeLine();
    return NodeLine();
  }

  Status Symbol() {
    SymbolInfo symbol;
    symbol.name = scanner_.Word();
    TONDAR_RETURN_IF_ERROR(scanner_.Expect("["));
    TONDAR_ASSIGN_OR_RETURN(symbol.min, Integer(scanner_.Until(",")));
    TONDAR_RETURN_IF_ERROR(scanner_.Expect(","));
    if (!scanner_.TakeWord("inf")) {
      TONDAR_ASSIGN_OR_RETURN(symbol.max, Integer(scanner_.Until("]")));
    }
    TONDAR_RETURN_IF_ERROR(scanner_.Expect("]"));
    graph_->symbols.push_back(std::move(symbol));
    return OkStatus();
  }

  // States begin as zeros.
  Status StateLine() {
    TONDAR_ASSIGN_OR_RETURN(const std::string name, scanner_.Quoted());
    TONDAR_ASSIGN_OR_RETURN(const Value* value, Use());
    if (value == nullptr || !IsConstant(value->shape)) return scanner_.Error("a state has a symbolic shape");
    State state{name, AllocateConstant(name, value->dtype, Evaluate(value->shape, {}))};
    std::fill_n(state.initial.view.data, state.initial.view.size_bytes(), std::byte{0});
    graph_->states.push_back(std::move(state));
    return OkStatus();
  }

  Status SizeLine() {
    const std::string name(scanner_.Word());
    const auto symbol = Dim::Parse(name, Symbols());
    if (!symbol || !symbol->AsSymbol()) return scanner_.Error(fmt::format("'{}' is no symbol", name));
    graph_->data_symbols.push_back(*symbol->AsSymbol());
    return OkStatus();
  }

  Result<int64_t> Integer(std::string_view text) {
    const auto value = Dim::Parse(text, {});
    if (!value || !value->IsConstant()) return scanner_.Error(fmt::format("'{}' is no integer", text));
    return value->constant();
  }

  // "%x: float32 [s0, 4]".
  Result<Typed> Type() {
    Typed typed;
    TONDAR_ASSIGN_OR_RETURN(typed.name, scanner_.ValueName());
    TONDAR_RETURN_IF_ERROR(scanner_.Expect(":"));
    const std::string_view dtype = scanner_.Word();
    const auto parsed = DTypeFromName(dtype);
    if (!parsed) return scanner_.Error(fmt::format("unknown dtype '{}'", dtype));
    typed.dtype = *parsed;
    TONDAR_ASSIGN_OR_RETURN(typed.shape, ShapeText());
    return typed;
  }

  Result<Shape> ShapeText() {
    TONDAR_RETURN_IF_ERROR(scanner_.Expect("["));
    const std::string inner(scanner_.Until("]"));
    TONDAR_RETURN_IF_ERROR(scanner_.Expect("]"));
    const auto shape = ParseShape("[" + inner + "]", Symbols());
    if (!shape) return scanner_.Error(fmt::format("'[{}]' is no shape", inner));
    return *shape;
  }

  Status Define(const std::string& name, Value* value) {
    if (value->name != name) return scanner_.Error(fmt::format("'%{}' is defined twice", name));
    values_[name] = value;
    return OkStatus();
  }

  Status ConstantLine() {
    TONDAR_ASSIGN_OR_RETURN(Typed typed, Type());
    if (!IsConstant(typed.shape)) return scanner_.Error("a constant has a symbolic shape");
    const Dims shape = Evaluate(typed.shape, {});
    Dims strides = ContiguousStrides(shape);
    if (scanner_.TakeWord("strides")) {
      TONDAR_ASSIGN_OR_RETURN(const Shape given, ShapeText());
      if (given.size() != shape.size()) return scanner_.Error("strides of another rank than the shape");
      strides = Evaluate(given, {});
    }
    int64_t span = 1;
    for (size_t d = 0; d < shape.size(); ++d) span += std::max<int64_t>(shape[d] - 1, 0) * strides[d];
    Constant constant = AllocateConstant(typed.name, typed.dtype, Dims{std::max<int64_t>(span, 1)});
    std::fill_n(constant.view.data, constant.view.size_bytes(), std::byte{0});
    constant.view.shape = shape;
    constant.view.strides = strides;
    if (scanner_.Take("=")) TONDAR_RETURN_IF_ERROR(Elements(constant.view));
    return Define(typed.name, graph_->AddConstant(std::move(constant)));
  }

  Status Elements(const TensorView& view) {
    if (!HasElements(view.dtype)) return scanner_.Error(fmt::format("no values of {}", Name(view.dtype)));
    if (!scanner_.Take("{")) {
      TONDAR_ASSIGN_OR_RETURN(const Element element, OneElement(scanner_.Until("\n#")));
      for (int64_t i = 0; i < view.elements(); ++i) WriteElement(view, i, element);
      return OkStatus();
    }
    const auto parts = SplitAtCommas(scanner_.Until("}"));
    TONDAR_RETURN_IF_ERROR(scanner_.Expect("}"));
    if (static_cast<int64_t>(parts.size()) != view.elements()) {
      return scanner_.Error(fmt::format("{} values for {} elements", parts.size(), view.elements()));
    }
    for (size_t i = 0; i < parts.size(); ++i) {
      TONDAR_ASSIGN_OR_RETURN(const Element element, OneElement(parts[i]));
      WriteElement(view, static_cast<int64_t>(i), element);
    }
    return OkStatus();
  }

  Result<Element> OneElement(std::string_view text) {
    text = text.substr(0, text.find_last_not_of(' ') + 1);
    if (const auto integer = Dim::Parse(text, {})) return Element(integer->constant());
    const auto number = ParseNumber(text);
    if (!number) return scanner_.Error(fmt::format("'{}' is no number", text));
    return Element(*number);
  }

  Status Check() {
    ShapeCheck check;
    TONDAR_ASSIGN_OR_RETURN(check.left, Expression(scanner_.Until("=")));
    TONDAR_RETURN_IF_ERROR(scanner_.Expect("=="));
    TONDAR_ASSIGN_OR_RETURN(check.right, Expression(scanner_.Until("\"\n#")));
    if (scanner_.Take("\"")) {
      check.where = scanner_.Until("\"");
      TONDAR_RETURN_IF_ERROR(scanner_.Expect("\""));
    }
    graph_->checks.push_back(std::move(check));
    return OkStatus();
  }

  Result<Dim> Expression(std::string_view text) {
    const auto dim = Dim::Parse(text.substr(0, text.find_last_not_of(' ') + 1), Symbols());
    if (!dim) return scanner_.Error(fmt::format("'{}' is no size", text));
    return *dim;
  }

  Result<Value*> Use() {
    TONDAR_ASSIGN_OR_RETURN(const std::string name, scanner_.ValueName());
    const auto found = values_.find(name);
    if (found == values_.end()) return scanner_.Error(fmt::format("'%{}' is not defined", name));
    return found->second;
  }

  Status NodeLine() {
    std::vector<Typed> results;
    std::string_view op = scanner_.Word();
    if (op.empty()) {
      do {
        TONDAR_ASSIGN_OR_RETURN(Typed typed, Type());
        results.push_back(std::move(typed));
      } while (scanner_.Take(","));
      TONDAR_RETURN_IF_ERROR(scanner_.Expect("="));
      op = scanner_.Word();
    }
    if (op.empty()) return scanner_.Error("expected an operator");
    std::string name = results.empty() ? std::string(op) : results[0].name;
    if (!scanner_.Take("(")) {
      TONDAR_ASSIGN_OR_RETURN(name, scanner_.Quoted());
      TONDAR_RETURN_IF_ERROR(scanner_.Expect("("));
    }
    const bool is_step = op.starts_with(kStepPrefix);
    Node* node = graph_->AddNode(is_step ? kStepOp : op, name, {});
    TONDAR_RETURN_IF_ERROR(ArgumentList(*node));
    if (is_step) TONDAR_RETURN_IF_ERROR(StepParts(*node, op.substr(kStepPrefix.size())));
    TONDAR_RETURN_IF_ERROR(Subgraphs(*node));
    for (Typed& typed : results) {
      TONDAR_RETURN_IF_ERROR(Define(typed.name, graph_->AddOutput(node, typed.name, typed.dtype, typed.shape)));
    }
    return OkStatus();
  }

  Status Subgraphs(Node& node) {
    while (scanner_.NextIs("graph")) {
      TONDAR_ASSIGN_OR_RETURN(std::unique_ptr<Graph> subgraph, Parser(scanner_, Symbols()).Run());
      node.subgraphs.push_back(std::move(subgraph));
    }
    return OkStatus();
  }

  Status ArgumentList(Node& node) {
    std::vector<Value*> inputs;
    std::vector<int> segments;
    while (!scanner_.Take(")")) {
      TONDAR_RETURN_IF_ERROR(Argument(node, inputs, segments));
      scanner_.Take(",");
    }
    graph_->SetInputs(&node, std::move(inputs));
    node.segments = std::move(segments);
    return OkStatus();
  }

  Status Argument(Node& node, std::vector<Value*>& inputs, std::vector<int>& segments) {
    const size_t before = inputs.size();
    if (scanner_.Take("[")) {
      while (!scanner_.Take("]")) {
        TONDAR_RETURN_IF_ERROR(Tensor(inputs));
        scanner_.Take(",");
      }
    } else if (const std::string_view name = scanner_.Word(); !name.empty() && name != "_") {
      TONDAR_RETURN_IF_ERROR(scanner_.Expect("="));
      const std::string_view text = scanner_.Until(",)");
      auto attribute = ParseAttribute(text, Symbols());
      if (!attribute) return scanner_.Error(fmt::format("'{}' is no attribute", text));
      node.attributes.emplace(name, std::move(*attribute));
      return OkStatus();
    } else if (name == "_") {
      inputs.push_back(nullptr);
    } else {
      TONDAR_RETURN_IF_ERROR(Tensor(inputs));
    }
    segments.push_back(static_cast<int>(inputs.size() - before));
    return OkStatus();
  }

  Status Tensor(std::vector<Value*>& inputs) {
    if (scanner_.TakeWord("_")) {
      inputs.push_back(nullptr);
      return OkStatus();
    }
    TONDAR_ASSIGN_OR_RETURN(Value * value, Use());
    inputs.push_back(value);
    return OkStatus();
  }

  Status StepParts(Node& node, std::string_view kind) {
    Result<StepBody> body = MakeStepBody(kind, node.attributes);
    if (!body.ok()) return scanner_.Error(body.status().message());
    node.attributes.clear();
    node.body = std::make_unique<StepBody>(std::move(body).value());
    for (std::string_view name : {"program", "finish", "epilogue"}) {
      if (!scanner_.TakeWord(name)) continue;
      LoopProgram* program = ProgramOf(*node.body, name);
      if (program == nullptr) return scanner_.Error(fmt::format("a {} step has no {}", kind, name));
      TONDAR_ASSIGN_OR_RETURN(*program, ParseProgram(scanner_, Symbols()));
    }
    return OkStatus();
  }

  TextScanner& scanner_;
  std::span<const SymbolInfo> outer_;
  std::unique_ptr<Graph> graph_ = std::make_unique<Graph>();
  std::map<std::string, Value*, std::less<>> values_;
};

}  // namespace

std::string ToText(const Graph& graph) { return Printer(graph, {}, "").Run() + "\n"; }

Result<std::unique_ptr<Graph>> ParseGraph(std::string_view text) {
  TextScanner scanner(text);
  TONDAR_ASSIGN_OR_RETURN(std::unique_ptr<Graph> graph, Parser(scanner, {}).Run());
  if (!scanner.AtEnd()) return scanner.Error("text follows the graph");
  TONDAR_RETURN_IF_ERROR(VerifyGraph(*graph));
  return graph;
}

}  // namespace tondar
