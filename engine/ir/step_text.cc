#include "engine/ir/step_text.h"

#include <algorithm>
#include <array>
#include <charconv>

#include "engine/ir/attribute_text.h"

namespace tondar {
namespace {

constexpr std::array<std::string_view, 9> kReduceOps = {"sum", "product", "max",    "min",       "all",
                                                       "any", "argmax",  "argmin", "logaddexp"};
constexpr std::array<std::string_view, 5> kScatterOps = {"store", "add", "multiply", "max", "min"};
constexpr std::array<std::string_view, 8> kLinalgKinds = {"cholesky", "lu",  "row_order",        "qr",
                                                        "eigh",     "svd", "triangular_solve", "exponential"};
constexpr std::array<std::string_view, 4> kNormKinds = {"softmax", "log_softmax", "layer_norm", "rms_norm"};

Shape ToDims(const std::vector<int64_t>& values) { return Shape(values.begin(), values.end()); }

template <typename Enum, size_t n>
std::string EnumText(const std::array<std::string_view, n>& names, Enum value) {
  return std::string(names[static_cast<size_t>(value)]);
}

// One function for both directions: `io` either writes the field's attribute or reads the field from it.
template <typename IO>
void Fields(IO& io, MapStep& step) {
  io.Field("extents", step.extents);
}
template <typename IO>
void Fields(IO& io, ReduceStep& step) {
  io.Field("extents", step.extents);
  io.Field("reduced", step.reduced);
  io.Field("op", step.op, kReduceOps);
  io.Field("accumulator", step.accumulator);
}
template <typename IO>
void Fields(IO& io, ScanStep& step) {
  io.Field("extents", step.extents);
  io.Field("op", step.op, kReduceOps);
  io.Field("accumulator", step.accumulator);
}
template <typename IO>
void Fields(IO&, MatMulStep&) {}
template <typename IO>
void Fields(IO& io, ConvStep& step) {
  io.Field("stride", step.stride);
  io.Field("padding", step.padding);
  io.Field("dilation", step.dilation);
  io.Field("output_padding", step.output_padding);
  io.Field("groups", step.groups);
  io.Field("transposed", step.transposed);
}
template <typename IO>
void Fields(IO& io, AttentionStep& step) {
  io.Field("scale", step.scale);
  io.Field("causal", step.causal);
  io.Field("has_mask", step.has_mask);
  io.Field("zero_masked_rows", step.zero_masked_rows);
}
template <typename IO>
void Fields(IO& io, NormStep& step) {
  io.Field("kind", step.kind, kNormKinds);
  io.Field("axes", step.axes);
  io.Field("epsilon", step.epsilon);
  io.Field("has_weight", step.has_weight);
  io.Field("has_bias", step.has_bias);
}
template <typename IO>
void Fields(IO& io, ScatterStep& step) {
  io.Field("extents", step.extents);
  io.Field("op", step.op, kScatterOps);
}
template <typename IO>
void Fields(IO& io, SortStep& step) {
  io.Field("descending", step.descending);
}
template <typename IO>
void Fields(IO& io, LinalgStep& step) {
  io.Field("kind", step.kind, kLinalgKinds);
  io.Field("upper", step.upper);
  io.Field("unit", step.unit);
  io.Field("full", step.full);
  io.Field("vectors", step.vectors);
  io.Field("check", step.check);
}

class Writer {
 public:
  explicit Writer(Attributes& attributes) : attributes_(attributes) {}
  void Field(const char* name, const Shape& value) { attributes_[name] = value; }
  void Field(const char* name, const std::vector<int64_t>& value) { attributes_[name] = ToDims(value); }
  void Field(const char* name, int value) { attributes_[name] = Dim(value); }
  void Field(const char* name, int64_t value) { attributes_[name] = Dim(value); }
  void Field(const char* name, bool value) { attributes_[name] = value; }
  void Field(const char* name, double value) { attributes_[name] = value; }
  void Field(const char* name, DType value) { attributes_[name] = value; }
  template <typename Enum, size_t n>
  void Field(const char* name, Enum value, const std::array<std::string_view, n>& names) {
    attributes_[name] = EnumText(names, value);
  }

 private:
  Attributes& attributes_;
};

// Absent parameters keep the field's default.
class Reader {
 public:
  explicit Reader(const Attributes& attributes) : attributes_(attributes) {}

  void Field(const char* name, Shape& value) { Get(name, value); }
  void Field(const char* name, bool& value) { Get(name, value); }
  void Field(const char* name, double& value) { Get(name, value); }
  void Field(const char* name, DType& value) { Get(name, value); }
  void Field(const char* name, int64_t& value) {
    Dim dim(value);
    if (Get(name, dim) && dim.IsConstant()) value = dim.constant();
  }
  void Field(const char* name, int& value) {
    int64_t wide = value;
    Field(name, wide);
    value = static_cast<int>(wide);
  }
  void Field(const char* name, std::vector<int64_t>& value) {
    Shape shape;
    if (!Get(name, shape)) return;
    value.clear();
    for (const Dim& dim : shape) value.push_back(dim.constant());
  }
  template <typename Enum, size_t n>
  void Field(const char* name, Enum& value, const std::array<std::string_view, n>& names) {
    std::string text;
    if (!Get(name, text)) return;
    const auto found = std::find(names.begin(), names.end(), text);
    if (found == names.end()) status_ = InvalidArgument("step parameter '{}': unknown value '{}'", name, text);
    if (found != names.end()) value = static_cast<Enum>(found - names.begin());
  }

  Status Finish() const {
    if (!status_.ok()) return status_;
    for (const auto& [name, attribute] : attributes_) {
      if (std::find(known_.begin(), known_.end(), name) == known_.end()) {
        return InvalidArgument("unknown step parameter '{}'", name);
      }
    }
    return OkStatus();
  }

 private:
  template <typename T>
  bool Get(const char* name, T& value) {
    known_.push_back(name);
    const auto found = attributes_.find(std::string_view(name));
    if (found == attributes_.end()) return false;
    const T* typed = std::get_if<T>(&found->second);
    if (typed == nullptr) {
      status_ = InvalidArgument("step parameter '{}' has the wrong type: {}", name, ToString(found->second));
      return false;
    }
    value = *typed;
    return true;
  }

  const Attributes& attributes_;
  std::vector<std::string_view> known_;
  Status status_;
};

// Sets `body` to the alternative called `kind`.
template <size_t i = 0>
bool Choose(std::string_view kind, StepBody& body) {
  if constexpr (i < std::variant_size_v<StepBody>) {
    if (Name(static_cast<StepKind>(i)) != kind) return Choose<i + 1>(kind, body);
    body.emplace<i>();
    return true;
  }
  return false;
}

std::string IndexText(const IndexExpression& index, std::span<const SymbolInfo> symbols) {
  std::string text;
  auto plus = [&text](const std::string& part) { text += text.empty() ? part : " + " + part; };
  for (const IndexExpression::Term& term : index.terms) {
    plus(term.coefficient == 1 ? fmt::format("i{}", term.loop_dim) : fmt::format("{}*i{}", term.coefficient, term.loop_dim));
  }
  if (index.dynamic >= 0) plus(fmt::format("%{}", index.dynamic));
  if (!index.offset.IsConstant()) {
    plus(fmt::format("({})", index.offset.ToString(symbols)));
  } else if (text.empty() || !index.offset.Is(0)) {
    plus(index.offset.ToString());
  }
  return index.guarded ? text + "?" : text;
}

std::string AccessText(const Access& access, std::span<const SymbolInfo> symbols) {
  std::string text = fmt::format("in{}[", access.operand);
  for (size_t d = 0; d < access.index.size(); ++d) text += (d > 0 ? ", " : "") + IndexText(access.index[d], symbols);
  text += "]";
  const bool guarded = std::any_of(access.index.begin(), access.index.end(), [](const auto& e) { return e.guarded; });
  return guarded ? text + fmt::format("{{{}}}", NumberText(access.fill)) : text;
}

bool HasFloatImmediate(DType dtype) { return !IsInteger(dtype); }

std::string InstructionText(const LoopProgram& program, const LoopInstruction& instruction,
                            std::span<const SymbolInfo> symbols) {
  const size_t source = static_cast<size_t>(instruction.source);
  switch (instruction.op) {
    case LoopOp::kLoad: return AccessText(program.accesses[source], symbols);
    case LoopOp::kConstant:
      return HasFloatImmediate(instruction.dtype) ? NumberText(instruction.immediate)
                                                  : fmt::format("{}", instruction.integer);
    case LoopOp::kSize: return fmt::format("size({})", program.sizes[source].ToString(symbols));
    case LoopOp::kIndex:
    case LoopOp::kAccumulator: return fmt::format("{}({})", InfoOf(instruction.op).name, instruction.source);
    default: break;
  }
  const int16_t operands[] = {instruction.a, instruction.b, instruction.c};
  std::string text = fmt::format("{}(", InfoOf(instruction.op).name);
  for (int i = 0; i < InfoOf(instruction.op).arity; ++i) text += fmt::format("{}%{}", i > 0 ? ", " : "", operands[i]);
  return text + ")";
}

std::optional<int64_t> ParseInteger(std::string_view text) {
  int64_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end != text.data() + text.size()) return std::nullopt;
  return value;
}

std::optional<LoopOp> OpOf(std::string_view name) {
  for (int i = 0; i < kLoopOpCount; ++i) {
    if (InfoOf(static_cast<LoopOp>(i)).name == name) return static_cast<LoopOp>(i);
  }
  return std::nullopt;
}

// Reads the lines of one program.
class ProgramParser {
 public:
  ProgramParser(TextScanner& scanner, std::span<const SymbolInfo> symbols) : scanner_(scanner), symbols_(symbols) {}

  Result<LoopProgram> Run() {
    TONDAR_RETURN_IF_ERROR(scanner_.Expect("{"));
    while (!scanner_.TakeWord("return")) TONDAR_RETURN_IF_ERROR(Instruction());
    do {
      TONDAR_ASSIGN_OR_RETURN(const int16_t result, Position());
      program_.results.push_back(result);
    } while (scanner_.Take(","));
    TONDAR_RETURN_IF_ERROR(scanner_.Expect("}"));
    return std::move(program_);
  }

 private:
  Result<int16_t> Position() {
    TONDAR_RETURN_IF_ERROR(scanner_.Expect("%"));
    const auto value = ParseInteger(scanner_.Word());
    if (!value || *value < 0 || *value > INT16_MAX) return scanner_.Error("an instruction has no number");
    return static_cast<int16_t>(*value);
  }

  Status Instruction() {
    TONDAR_ASSIGN_OR_RETURN(const int16_t position, Position());
    if (static_cast<size_t>(position) != program_.body.size()) return scanner_.Error("instructions are not in order");
    TONDAR_RETURN_IF_ERROR(scanner_.Expect("="));
    const std::string_view source = scanner_.Until(":");
    TONDAR_RETURN_IF_ERROR(scanner_.Expect(":"));
    const auto dtype = DTypeFromName(scanner_.Word());
    if (!dtype) return scanner_.Error("an instruction has no dtype");
    LoopInstruction instruction;
    instruction.dtype = *dtype;
    TONDAR_RETURN_IF_ERROR(Source(source, instruction));
    program_.body.push_back(instruction);
    return OkStatus();
  }

  Status Source(std::string_view text, LoopInstruction& instruction) {
    const size_t bracket = text.find_first_of("([");
    if (bracket == std::string_view::npos) return Immediate(text, instruction);
    if (text[bracket] == '[') return Load(text, bracket, instruction);
    const std::string_view name = text.substr(0, bracket);
    const std::string_view arguments = text.substr(bracket + 1, text.size() - bracket - 2);
    const std::optional<LoopOp> op = OpOf(name);
    if (!op || !text.ends_with(')')) return scanner_.Error(fmt::format("unknown instruction '{}'", text));
    instruction.op = *op;
    if (*op == LoopOp::kSize) return Size(arguments, instruction);
    if (*op == LoopOp::kIndex || *op == LoopOp::kAccumulator) {
      const auto source = ParseInteger(arguments);
      if (!source) return scanner_.Error(fmt::format("'{}' needs a number", text));
      instruction.source = static_cast<int16_t>(*source);
      return OkStatus();
    }
    return Operands(text, arguments, instruction);
  }

  Status Operands(std::string_view text, std::string_view arguments, LoopInstruction& instruction) {
    int16_t* operands[] = {&instruction.a, &instruction.b, &instruction.c};
    const auto parts = SplitAtCommas(arguments);
    if (static_cast<int>(parts.size()) != InfoOf(instruction.op).arity) {
      return scanner_.Error(fmt::format("'{}' needs {} operands", text, InfoOf(instruction.op).arity));
    }
    for (size_t i = 0; i < parts.size(); ++i) {
      const auto position = parts[i].starts_with('%') ? ParseInteger(parts[i].substr(1)) : std::nullopt;
      if (!position) return scanner_.Error(fmt::format("'{}': bad operand '{}'", text, parts[i]));
      *operands[i] = static_cast<int16_t>(*position);
    }
    return OkStatus();
  }

  Status Immediate(std::string_view text, LoopInstruction& instruction) {
    instruction.op = LoopOp::kConstant;
    if (HasFloatImmediate(instruction.dtype)) {
      const auto value = ParseNumber(text);
      if (!value) return scanner_.Error(fmt::format("'{}' is no number", text));
      instruction.immediate = *value;
      return OkStatus();
    }
    const auto value = ParseInteger(text);
    if (!value) return scanner_.Error(fmt::format("'{}' is no integer", text));
    instruction.integer = *value;
    return OkStatus();
  }

  Status Size(std::string_view text, LoopInstruction& instruction) {
    const auto size = Dim::Parse(text, symbols_);
    if (!size) return scanner_.Error(fmt::format("'{}' is no size", text));
    const auto found = std::find(program_.sizes.begin(), program_.sizes.end(), *size);
    instruction.source = static_cast<int16_t>(found - program_.sizes.begin());
    if (found == program_.sizes.end()) program_.sizes.push_back(*size);
    return OkStatus();
  }

  Status Load(std::string_view text, size_t bracket, LoopInstruction& instruction) {
    instruction.op = LoopOp::kLoad;
    Access access;
    const auto operand = text.starts_with("in") ? ParseInteger(text.substr(2, bracket - 2)) : std::nullopt;
    const size_t end = text.rfind(']');
    if (!operand || end == std::string_view::npos) return scanner_.Error(fmt::format("'{}' is no access", text));
    access.operand = static_cast<int16_t>(*operand);
    for (std::string_view part : SplitAtCommas(text.substr(bracket + 1, end - bracket - 1))) {
      IndexExpression index;
      TONDAR_RETURN_IF_ERROR(Index(part, index));
      access.index.push_back(std::move(index));
    }
    std::string_view fill = text.substr(end + 1);
    if (!fill.empty()) {
      const auto value = fill.size() > 2 ? ParseNumber(fill.substr(1, fill.size() - 2)) : std::nullopt;
      if (!value) return scanner_.Error(fmt::format("'{}' is no fill value", fill));
      access.fill = *value;
    }
    const auto found = std::find(program_.accesses.begin(), program_.accesses.end(), access);
    instruction.source = static_cast<int16_t>(found - program_.accesses.begin());
    if (found == program_.accesses.end()) program_.accesses.push_back(std::move(access));
    return OkStatus();
  }

  Status Index(std::string_view text, IndexExpression& index) {
    if (text.ends_with('?')) {
      index.guarded = true;
      text.remove_suffix(1);
    }
    for (TextScanner parts(text); !parts.AtEnd(); parts.Take("+")) {
      TONDAR_RETURN_IF_ERROR(IndexPart(parts.Until("+"), index));
    }
    return OkStatus();
  }

  // "i0", "2*i0", "%3", "(s0 - 1)" or "-1".
  Status IndexPart(std::string_view part, IndexExpression& index) {
    if (part.starts_with('%')) {
      const auto position = ParseInteger(part.substr(1));
      if (!position) return scanner_.Error(fmt::format("'{}' is no instruction", part));
      index.dynamic = static_cast<int16_t>(*position);
      return OkStatus();
    }
    const size_t dim_at = part.find('i');
    if (!part.starts_with('(') && dim_at != std::string_view::npos) {
      const auto dim = ParseInteger(part.substr(dim_at + 1));
      const auto coefficient = dim_at == 0 ? std::optional<int64_t>(1) : ParseInteger(part.substr(0, dim_at - 1));
      if (!dim || !coefficient) return scanner_.Error(fmt::format("'{}' is no index", part));
      index.terms.push_back({static_cast<int8_t>(*dim), *coefficient});
      return OkStatus();
    }
    const auto offset = Dim::Parse(part, symbols_);
    if (!offset) return scanner_.Error(fmt::format("'{}' is no index", part));
    index.offset = index.offset + *offset;
    return OkStatus();
  }

  TextScanner& scanner_;
  std::span<const SymbolInfo> symbols_;
  LoopProgram program_;
};

struct ProgramName {
  std::string_view name;
  LoopProgram* (*get)(StepBody& body);
};

template <typename T, LoopProgram T::*member>
LoopProgram* Member(StepBody& body) {
  T* step = std::get_if<T>(&body);
  return step == nullptr ? nullptr : &(step->*member);
}

constexpr ProgramName kPrograms[] = {
    {"program", Member<MapStep, &MapStep::program>},
    {"program", Member<ReduceStep, &ReduceStep::program>},
    {"program", Member<ScanStep, &ScanStep::program>},
    {"program", Member<ScatterStep, &ScatterStep::program>},
    {"finish", Member<ReduceStep, &ReduceStep::finish>},
    {"epilogue", [](StepBody& body) { return EpilogueOf(body); }},
};

}  // namespace

StepText TakeApart(const StepBody& body) {
  StepText text;
  Writer writer(text.parameters);
  // Fields takes the step by reference to serve both directions; a copy keeps the original const.
  StepBody copy = body;
  std::visit([&](auto& step) { Fields(writer, step); }, copy);
  StepBody& original = const_cast<StepBody&>(body);
  for (const ProgramName& program : kPrograms) {
    const LoopProgram* found = program.get(original);
    if (found != nullptr && !found->empty()) text.programs.emplace_back(program.name, found);
  }
  return text;
}

Result<StepBody> MakeStepBody(std::string_view kind, const Attributes& parameters) {
  StepBody body;
  if (!Choose(kind, body)) return InvalidArgument("unknown step kind '{}'", kind);
  Reader reader(parameters);
  std::visit([&](auto& step) { Fields(reader, step); }, body);
  TONDAR_RETURN_IF_ERROR(reader.Finish());
  return body;
}

LoopProgram* ProgramOf(StepBody& body, std::string_view name) {
  for (const ProgramName& program : kPrograms) {
    if (program.name != name) continue;
    if (LoopProgram* found = program.get(body)) return found;
  }
  return nullptr;
}

std::string ProgramText(const LoopProgram& program, std::span<const SymbolInfo> symbols, std::string_view indent) {
  std::string text = "{\n";
  for (size_t i = 0; i < program.body.size(); ++i) {
    text += fmt::format("{}  %{} = {}: {}\n", indent, i, InstructionText(program, program.body[i], symbols),
                        Name(program.body[i].dtype));
  }
  text += fmt::format("{}  return ", indent);
  for (size_t i = 0; i < program.results.size(); ++i) text += fmt::format("{}%{}", i > 0 ? ", " : "", program.results[i]);
  return text + fmt::format("\n{}}}", indent);
}

Result<LoopProgram> ParseProgram(TextScanner& scanner, std::span<const SymbolInfo> symbols) {
  return ProgramParser(scanner, symbols).Run();
}

}  // namespace tondar
