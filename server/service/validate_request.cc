#include "server/service/validate_request.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <cstring>
#include <limits>
#include <optional>

#include "server/config/nearest_name.h"

namespace tondar {
namespace {

constexpr std::string_view kInputAlias = "INPUT__";
constexpr std::string_view kOutputAlias = "OUTPUT__";

// Parameters that mean something to the server itself; the codecs take out those they understand.
constexpr std::string_view kReservedPrefix = "triton_";
constexpr std::string_view kReservedNames[] = {"headers", "binary_data_output"};
constexpr std::string_view kSequenceNames[] = {"sequence_id", "sequence_start", "sequence_end"};

// ---- names

// The number behind `prefix`; -1 if there is none or it is not below `count`.
int PositionOfAlias(std::string_view name, std::string_view prefix, size_t count) {
  if (!name.starts_with(prefix)) return -1;
  const std::string_view digits = name.substr(prefix.size());
  int position = -1;
  const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), position);
  const bool number = error == std::errc() && end == digits.data() + digits.size();
  return number && position >= 0 && static_cast<size_t>(position) < count ? position : -1;
}

std::string Quoted(const std::vector<std::string_view>& names) {
  std::string text;
  for (std::string_view name : names) text += fmt::format("{}'{}'", text.empty() ? "" : ", ", name);
  return text.empty() ? "none" : text;
}

std::vector<std::string_view> NamesOf(const std::vector<TensorSpec>& specs) {
  std::vector<std::string_view> names;
  for (const TensorSpec& spec : specs) names.push_back(spec.name);
  return names;
}

Status UnknownName(std::string_view noun, std::string_view name, const std::vector<TensorSpec>& specs) {
  const std::vector<std::string_view> names = NamesOf(specs);
  return InvalidArgument("unknown {} '{}': the model's {}s are {}{}", noun, name, noun, Quoted(names),
                         DidYouMean(name, names));
}

// ---- constants

// The one number in a tensor; nullopt if it is not one, or of a dtype that does not come as a Python number.
std::optional<double> ScalarOf(const InputTensor& input) {
  auto read = [&]<typename T>(T) -> std::optional<double> {
    T value;
    if (input.bytes.size() != sizeof(T)) return std::nullopt;
    std::memcpy(&value, input.bytes.data(), sizeof(T));
    return static_cast<double>(value);
  };
  switch (input.dtype) {
    case DType::kBool:
    case DType::kUInt8: return read(uint8_t());
    case DType::kUInt16: return read(uint16_t());
    case DType::kUInt32: return read(uint32_t());
    case DType::kUInt64: return read(uint64_t());
    case DType::kInt8: return read(int8_t());
    case DType::kInt16: return read(int16_t());
    case DType::kInt32: return read(int32_t());
    case DType::kInt64: return read(int64_t());
    case DType::kFloat32: return read(float());
    case DType::kFloat64: return read(double());
    default: return std::nullopt;
  }
}

// A kString tensor of one element: 4 bytes of length, then the text.
bool HoldsText(const InputTensor& input, std::string_view text) {
  uint32_t length = 0;
  if (input.dtype != DType::kString || input.bytes.size() != sizeof(length) + text.size()) return false;
  std::memcpy(&length, input.bytes.data(), sizeof(length));
  return length == text.size() && std::memcmp(input.bytes.data() + sizeof(length), text.data(), text.size()) == 0;
}

bool HoldsConstant(const InputTensor& input, const ConstantSpec& constant) {
  if (const auto* text = std::get_if<std::string>(&constant.value)) return HoldsText(input, *text);
  const double expected = std::visit(
      [](const auto& value) {
        if constexpr (std::is_arithmetic_v<std::decay_t<decltype(value)>>) return static_cast<double>(value);
        return 0.0;
      },
      constant.value);
  const std::optional<double> found = ScalarOf(input);
  // A float32 on the wire cannot be nearer to a double constant than its own rounding.
  return found && (*found == expected || (input.dtype == DType::kFloat32 && *found == static_cast<float>(expected)));
}

Status CheckConstant(const InputTensor& input, const ConstantSpec& constant) {
  if (HoldsConstant(input, constant)) return OkStatus();
  const std::string value = std::visit([](const auto& v) { return fmt::format("{}", v); }, constant.value);
  return InvalidArgument("input '{}': the export fixed it to {}, another value cannot be served; send {} or leave it out",
                         input.name, value, value);
}

const ConstantSpec* FindConstant(const Signature& signature, std::string_view name) {
  for (const ConstantSpec& constant : signature.constants) {
    if (constant.name == name) return &constant;
  }
  return nullptr;
}

// ---- which inputs

// Checks the request's constants and takes them out.
Status DropConstants(const Signature& signature, std::vector<InputTensor>& inputs) {
  if (signature.constants.empty()) return OkStatus();
  for (size_t i = 0; i < inputs.size(); ++i) {
    const ConstantSpec* constant = FindConstant(signature, inputs[i].name);
    if (constant == nullptr) continue;
    const bool twice = std::any_of(inputs.begin() + static_cast<std::ptrdiff_t>(i) + 1, inputs.end(),
                                   [&](const InputTensor& other) { return other.name == constant->name; });
    if (twice) return InvalidArgument("input '{}' is given twice; send each input once", constant->name);
    TONDAR_RETURN_IF_ERROR(CheckConstant(inputs[i], *constant));
  }
  std::erase_if(inputs, [&](const InputTensor& input) { return FindConstant(signature, input.name) != nullptr; });
  return OkStatus();
}

Status MissingInputs(const Signature& signature, const std::vector<bool>& given) {
  std::vector<std::string_view> missing;
  for (size_t i = 0; i < given.size(); ++i) {
    if (!given[i]) missing.push_back(signature.inputs[i].name);
  }
  return InvalidArgument("missing input{} {}; the model's inputs are {}", missing.size() == 1 ? "" : "s", Quoted(missing),
                         Quoted(NamesOf(signature.inputs)));
}

// Brings inputs that come in another order, under aliases, or not all, into the signature's order.
Status ReorderInputs(const Signature& signature, std::vector<InputTensor>& inputs, bool& by_alias) {
  std::vector<bool> given(signature.inputs.size(), false);
  std::vector<InputTensor> ordered(signature.inputs.size());
  for (InputTensor& input : inputs) {
    int position = signature.FindInput(input.name);
    if (position < 0) {
      position = PositionOfAlias(input.name, kInputAlias, signature.inputs.size());
      if (position < 0) return UnknownName("input", input.name, signature.inputs);
      by_alias = true;
    }
    const size_t at = static_cast<size_t>(position);
    if (given[at]) return InvalidArgument("input '{}' is given twice; send each input once", signature.inputs[at].name);
    given[at] = true;
    ordered[at] = std::move(input);
  }
  if (std::find(given.begin(), given.end(), false) != given.end()) return MissingInputs(signature, given);
  inputs = std::move(ordered);
  return OkStatus();
}

Status ArrangeInputs(const Signature& signature, std::vector<InputTensor>& inputs, bool& by_alias) {
  TONDAR_RETURN_IF_ERROR(DropConstants(signature, inputs));
  bool in_order = inputs.size() == signature.inputs.size();
  for (size_t i = 0; in_order && i < inputs.size(); ++i) in_order = inputs[i].name == signature.inputs[i].name;
  return in_order ? OkStatus() : ReorderInputs(signature, inputs, by_alias);
}

// ---- shapes

// How shapes read to a client: "[-1, 4]", the batch included.
std::string ExpectedShape(const TensorConfig& config, bool batched) {
  return fmt::format("[{}{}{}]", batched ? "-1" : "", batched && !config.dims.empty() ? ", " : "",
                     fmt::join(config.dims, ", "));
}

Status CheckDType(const InputTensor& input, const TensorConfig& config) {
  if (input.dtype == config.dtype) return OkStatus();
  return InvalidArgument("input '{}': datatype {}, expected {}", input.name, WireName(input.dtype),
                         WireName(config.dtype));
}

Status CheckRank(InputTensor& input, const TensorConfig& config, bool batched) {
  const size_t rank = config.dims.size() + (batched ? 1 : 0);
  if (input.shape.size() == rank) return OkStatus();
  if (rank == 0 && input.shape == Dims{1}) {  // clients that know no rank 0 send one element
    input.shape = Dims();
    return OkStatus();
  }
  const std::string expected = ExpectedShape(config, batched);
  std::string_view hint;
  if (batched && input.shape.size() + 1 == rank) hint = "; put the batch size first, [1, ...] for one";
  return InvalidArgument("input '{}': shape {} has rank {}, expected {} ({}){}", input.name, ToString(input.shape),
                         input.shape.size(), rank, expected, hint);
}

Status CheckExtents(const InputTensor& input, const TensorConfig& config, bool batched) {
  for (size_t d = 0; d < input.shape.size(); ++d) {
    if (input.shape[d] < 0) {
      return InvalidArgument("input '{}': shape {} has a negative extent; send the actual extents",
                             input.name, ToString(input.shape));
    }
    if (batched && d == 0) continue;
    const int64_t expected = config.dims[d - (batched ? 1 : 0)];
    if (expected >= 0 && input.shape[d] != expected) {
      return InvalidArgument("input '{}': shape {} does not match {}: extent {} is {}, expected {}", input.name,
                             ToString(input.shape), ExpectedShape(config, batched), d, input.shape[d], expected);
    }
  }
  return OkStatus();
}

// No bytes stand behind the extents of an empty tensor, so nothing else keeps what a model makes of them (positions,
// masks of length squared) within memory, or within what an int64 can count. The bound is what half a megabyte of
// int64 could ask for.
Status CheckEmpty(const InputTensor& input) {
  constexpr int64_t kLargest = 1 << 16;
  if (std::none_of(input.shape.begin(), input.shape.end(), [](int64_t extent) { return extent > kLargest; })) {
    return OkStatus();
  }
  return InvalidArgument("input '{}': shape {} has no elements, but an extent above {}", input.name,
                         ToString(input.shape), kLargest);
}

Status CheckSize(const InputTensor& input) {
  const std::optional<int64_t> elements = CheckedElementCount(input.shape.span());
  int64_t bytes = 0;
  if (!elements || __builtin_mul_overflow(*elements, static_cast<int64_t>(SizeOf(input.dtype)), &bytes)) {
    return InvalidArgument("input '{}': shape {} is too large to be a tensor", input.name, ToString(input.shape));
  }
  if (static_cast<uint64_t>(bytes) == input.bytes.size()) return bytes == 0 ? CheckEmpty(input) : OkStatus();
  return InvalidArgument("input '{}': {} bytes of data, expected {} for shape {} of {}", input.name, input.bytes.size(),
                         bytes, ToString(input.shape), WireName(input.dtype));
}

// ---- batch

Status CheckBatch(const ModelConfig& config, Request& request) {
  request.rows = 1;
  if (config.max_batch_size <= 0 || request.inputs.empty()) return OkStatus();
  request.rows = request.inputs[0].shape[0];
  for (const InputTensor& input : request.inputs) {
    if (input.shape[0] == request.rows) continue;
    return InvalidArgument("input '{}': batch size {}, but input '{}' has {}; all inputs of a request must agree",
                           input.name, input.shape[0], request.inputs[0].name, request.rows);
  }
  if (request.rows < 1) {
    return InvalidArgument("input '{}': shape {} has batch size {}, expected 1 to {}", request.inputs[0].name,
                           ToString(request.inputs[0].shape), request.rows, config.max_batch_size);
  }
  if (request.rows <= config.max_batch_size) return OkStatus();
  return InvalidArgument("input '{}': batch size {} is above the model's max_batch_size {}; send smaller batches",
                         request.inputs[0].name, request.rows, config.max_batch_size);
}

// ---- symbols

// Whether all extents are constants or plain symbols that agree and are in range. False does not mean wrong: then
// SolveSymbols decides and finds the words. This is the path without allocation.
bool FitsPlainly(const Signature& signature, const std::vector<InputTensor>& inputs) {
  constexpr size_t kMostSymbols = 16;
  if (signature.symbols.size() > kMostSymbols) return false;
  std::array<int64_t, kMostSymbols> values;
  values.fill(-1);
  for (size_t i = 0; i < inputs.size(); ++i) {
    const Shape& shape = signature.inputs[i].shape;
    if (shape.size() != inputs[i].shape.size()) return false;
    for (size_t d = 0; d < shape.size(); ++d) {
      const int64_t found = inputs[i].shape[d];
      if (shape[d].IsConstant()) {
        if (shape[d].constant() != found) return false;
        continue;
      }
      const std::optional<SymbolId> id = shape[d].AsSymbol();
      if (!id) return false;
      int64_t& value = values[static_cast<size_t>(*id)];
      const SymbolInfo& symbol = signature.symbols[static_cast<size_t>(*id)];
      if (found < symbol.min || found > symbol.max || (value >= 0 && value != found)) return false;
      value = found;
    }
  }
  return true;
}

Status CheckSymbols(const Signature& signature, const std::vector<InputTensor>& inputs) {
  if (FitsPlainly(signature, inputs)) return OkStatus();
  std::vector<Dims> shapes;
  for (const InputTensor& input : inputs) shapes.push_back(input.shape);
  return SolveSymbols(signature, shapes).status();
}

// ---- outputs

Status CheckOutputs(const Signature& signature, std::vector<RequestedOutput>& outputs) {
  for (size_t i = 0; i < outputs.size(); ++i) {
    RequestedOutput& output = outputs[i];
    output.position = signature.FindOutput(output.name);
    if (output.position < 0) output.position = PositionOfAlias(output.name, kOutputAlias, signature.outputs.size());
    if (output.position < 0) return UnknownName("output", output.name, signature.outputs);
    if (output.parameters.contains("classification")) {
      return Unimplemented("output '{}': classification is not implemented; ask for the scores", output.name);
    }
    for (size_t before = 0; before < i; ++before) {
      if (outputs[before].position != output.position) continue;
      return InvalidArgument("output '{}' is asked for twice; ask for each output once", output.name);
    }
  }
  return OkStatus();
}

// Who speaks Triton's positional names reads the answer by them too.
void AskForAllByAlias(const Signature& signature, std::vector<RequestedOutput>& outputs) {
  for (size_t i = 0; i < signature.outputs.size(); ++i) {
    RequestedOutput& output = outputs.emplace_back();
    output.name = fmt::format("{}{}", kOutputAlias, i);
    output.position = static_cast<int>(i);
  }
}

// ---- parameters

template <size_t kCount>
bool OneOf(const std::string_view (&names)[kCount], std::string_view name) {
  return std::find(std::begin(names), std::end(names), name) != std::end(names);
}

bool IsNone(const ParameterValue& value) {
  return std::visit(
      [](const auto& v) {
        if constexpr (std::is_same_v<std::decay_t<decltype(v)>, std::string>) return v.empty();
        else return v == 0;
      },
      value);
}

void SetTimeout(uint64_t timeout_us, Request& request) {
  constexpr auto kLongest = static_cast<uint64_t>(std::numeric_limits<int64_t>::max() / 1'000'000);
  // 0 is the protocol's word for none; the cap keeps sums with a clock from overflowing.
  if (timeout_us > 0) request.timeout = std::chrono::microseconds(std::min(timeout_us, kLongest));
}

void SetPriority(uint64_t priority, Request& request) {
  request.priority = static_cast<uint32_t>(std::min<uint64_t>(priority, std::numeric_limits<uint32_t>::max()));
}

// Parameters that tell the scheduler how to queue the request.
struct QueueParameter {
  std::string_view name;
  void (*set)(uint64_t value, Request& request);
};
constexpr QueueParameter kQueueParameters[] = {{"timeout", &SetTimeout}, {"priority", &SetPriority}};

Status CheckParameter(std::string_view name, const ParameterValue& value) {
  if (name.starts_with(kReservedPrefix) || OneOf(kReservedNames, name)) {
    return InvalidArgument("parameter '{}' is reserved by the protocol; choose another name", name);
  }
  if (OneOf(kSequenceNames, name) && !IsNone(value)) {
    return InvalidArgument("parameter '{}': the model does not keep state between requests; leave it out", name);
  }
  return OkStatus();
}

// Moves what is the scheduler's out of the parameters and judges the rest.
Status TakeParameters(Request& request) {
  if (request.parameters.empty()) return OkStatus();
  for (const QueueParameter& parameter : kQueueParameters) {
    const auto given = request.parameters.find(parameter.name);
    if (given == request.parameters.end()) continue;
    TONDAR_ASSIGN_OR_RETURN(const uint64_t value, NonNegative(given->first, given->second));
    parameter.set(value, request);
    request.parameters.erase(given);
  }
  for (const auto& [name, value] : request.parameters) TONDAR_RETURN_IF_ERROR(CheckParameter(name, value));
  return OkStatus();
}

}  // namespace

Status ValidateRequest(const ModelConfig& config, const Signature& signature, Request& request) {
  const bool batched = config.max_batch_size > 0;
  bool by_alias = false;
  TONDAR_RETURN_IF_ERROR(TakeParameters(request));
  TONDAR_RETURN_IF_ERROR(ArrangeInputs(signature, request.inputs, by_alias));
  for (size_t i = 0; i < request.inputs.size(); ++i) {
    InputTensor& input = request.inputs[i];
    TONDAR_RETURN_IF_ERROR(CheckDType(input, config.inputs[i]));
    TONDAR_RETURN_IF_ERROR(CheckRank(input, config.inputs[i], batched));
    TONDAR_RETURN_IF_ERROR(CheckExtents(input, config.inputs[i], batched));
    TONDAR_RETURN_IF_ERROR(CheckSize(input));
  }
  TONDAR_RETURN_IF_ERROR(CheckBatch(config, request));
  TONDAR_RETURN_IF_ERROR(CheckSymbols(signature, request.inputs));
  TONDAR_RETURN_IF_ERROR(CheckOutputs(signature, request.outputs));
  if (by_alias && request.outputs.empty()) AskForAllByAlias(signature, request.outputs);
  return OkStatus();
}

}  // namespace tondar
