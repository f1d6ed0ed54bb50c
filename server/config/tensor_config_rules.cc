#include "server/config/tensor_config_rules.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>

#include "model_config.pb.h"
#include "server/config/nearest_name.h"

namespace tondar {
namespace {

using Proto = inference::ModelConfig;

// config.pbtxt's names of the element types, beside the engine's. The rest of the engine's cannot be sent.
struct TypeName {
  inference::DataType proto;
  DType dtype;
};
constexpr TypeName kTypes[] = {
    {inference::TYPE_BOOL, DType::kBool},     {inference::TYPE_UINT8, DType::kUInt8},
    {inference::TYPE_UINT16, DType::kUInt16}, {inference::TYPE_UINT32, DType::kUInt32},
    {inference::TYPE_UINT64, DType::kUInt64}, {inference::TYPE_INT8, DType::kInt8},
    {inference::TYPE_INT16, DType::kInt16},   {inference::TYPE_INT32, DType::kInt32},
    {inference::TYPE_INT64, DType::kInt64},   {inference::TYPE_FP16, DType::kFloat16},
    {inference::TYPE_FP32, DType::kFloat32},  {inference::TYPE_FP64, DType::kFloat64},
    {inference::TYPE_STRING, DType::kString}, {inference::TYPE_BF16, DType::kBFloat16},
};

inference::DataType ToProto(DType dtype) {
  for (const TypeName& type : kTypes) {
    if (type.dtype == dtype) return type.proto;
  }
  return inference::TYPE_INVALID;
}

// One side of a model: its inputs or its outputs.
struct Side {
  std::string_view noun;          // "input"
  std::string_view alias_prefix;  // "INPUT__"
  const std::vector<TensorSpec>& specs;
};

std::optional<size_t> PositionOfAlias(std::string_view name, const Side& side) {
  if (!name.starts_with(side.alias_prefix)) return std::nullopt;
  const std::string_view digits = name.substr(side.alias_prefix.size());
  size_t position = 0;
  const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), position);
  if (error != std::errc() || end != digits.data() + digits.size() || position >= side.specs.size()) return std::nullopt;
  return position;
}

std::optional<size_t> FindSpec(std::string_view name, const Side& side) {
  for (size_t i = 0; i < side.specs.size(); ++i) {
    if (side.specs[i].name == name) return i;
  }
  return PositionOfAlias(name, side);
}

Status UnknownTensor(std::string_view name, const Side& side) {
  std::vector<std::string_view> names;
  for (const TensorSpec& spec : side.specs) names.push_back(spec.name);
  return InvalidArgument("config: {} '{}' is not in the model file, which has {}{}", side.noun, name,
                         names.empty() ? "none" : fmt::format("{}", fmt::join(names, ", ")), DidYouMean(name, names));
}

// The extents of the file as dims are written: variable is -1, the batch dimension left out if it is implicit.
std::vector<int64_t> ExpectedDims(const TensorSpec& spec, bool implicit_batch) {
  const Dims wire = WireShape(spec.shape);
  return {wire.begin() + (implicit_batch ? 1 : 0), wire.end()};
}

bool DimsFit(const std::vector<int64_t>& written, const std::vector<int64_t>& expected) {
  return std::equal(written.begin(), written.end(), expected.begin(), expected.end(),
                    [](int64_t w, int64_t e) { return w == e || (e == -1 && w > 0); });
}

std::string DimsText(const std::vector<int64_t>& dims) { return fmt::format("[{}]", fmt::join(dims, ", ")); }

// The file has a scalar and so do the dims [1] that older configurations must write for it.
bool IsScalarSpelledAsOne(const std::vector<int64_t>& written, const std::vector<int64_t>& expected) {
  return expected.empty() && written == std::vector<int64_t>{1};
}

struct DimsRule {
  bool batches;              // max_batch_size > 0
  bool implicit_batch_only;  // and was written
};

Result<std::vector<int64_t>> CheckDims(const std::vector<int64_t>& written, const TensorSpec& spec, const Side& side,
                                       DimsRule rule) {
  const std::vector<int64_t> expected = ExpectedDims(spec, rule.batches);
  if (written.empty() || IsScalarSpelledAsOne(written, expected)) return expected;
  if (DimsFit(written, expected)) return written;
  const std::vector<int64_t> complete = ExpectedDims(spec, false);
  if (rule.batches && !rule.implicit_batch_only && DimsFit(written, complete)) {
    return std::vector<int64_t>(written.begin() + 1, written.end());
  }
  std::string_view hint;
  if (rule.batches && rule.implicit_batch_only && DimsFit(written, complete)) {
    hint = "; leave the batch dimension out, since max_batch_size is above 0";
  } else if (!rule.batches && !complete.empty() && DimsFit(written, ExpectedDims(spec, true))) {
    hint = "; write the first dimension too, since the model does not batch";
  }
  return InvalidArgument("config: {} '{}' has dims {}, expected {} as the model file has it{}", side.noun, spec.name,
                         DimsText(written), DimsText(expected), hint);
}

Status CheckType(inference::DataType written, const TensorSpec& spec, const Side& side) {
  const inference::DataType expected = ToProto(spec.dtype);
  if (expected == inference::TYPE_INVALID) {
    return InvalidArgument("{} '{}' is {}, which the inference protocol cannot carry", side.noun, spec.name,
                           Name(spec.dtype));
  }
  if (written == inference::TYPE_INVALID || written == expected) return OkStatus();
  return InvalidArgument("config: {} '{}' has data_type {}, expected {} as the model file has it", side.noun, spec.name,
                         inference::DataType_Name(written), inference::DataType_Name(expected));
}

// What was written about each tensor of the file; null where nothing was.
template <typename Tensor>
Result<std::vector<const Tensor*>> MatchByName(const google::protobuf::RepeatedPtrField<Tensor>& written,
                                               const Side& side, const Signature& signature,
                                               std::vector<std::string>& warnings) {
  std::vector<const Tensor*> matched(side.specs.size(), nullptr);
  for (const Tensor& tensor : written) {
    const bool constant = std::any_of(signature.constants.begin(), signature.constants.end(),
                                      [&](const ConstantSpec& c) { return c.name == tensor.name(); });
    if (constant && side.noun == "input") {
      warnings.push_back(fmt::format("input '{}' is a constant of the exported model; callers may leave it out, another "
                                     "value is refused", tensor.name()));
      continue;
    }
    const std::optional<size_t> position = FindSpec(tensor.name(), side);
    if (!position) return UnknownTensor(tensor.name(), side);
    if (matched[*position] != nullptr) {
      return InvalidArgument("config: {} '{}' is listed twice", side.noun, side.specs[*position].name);
    }
    matched[*position] = &tensor;
  }
  return matched;
}

template <typename Tensor>
Result<std::vector<TensorConfig>> ResolveSide(const google::protobuf::RepeatedPtrField<Tensor>& written,
                                              const Side& side, DimsRule rule, const Signature& signature,
                                              std::vector<std::string>& warnings) {
  TONDAR_ASSIGN_OR_RETURN(const auto matched, MatchByName(written, side, signature, warnings));
  std::vector<TensorConfig> tensors;
  for (size_t i = 0; i < side.specs.size(); ++i) {
    const TensorSpec& spec = side.specs[i];
    static const Tensor kNothingWritten;
    const Tensor& tensor = matched[i] ? *matched[i] : kNothingWritten;
    TONDAR_RETURN_IF_ERROR(CheckType(tensor.data_type(), spec, side));
    TONDAR_ASSIGN_OR_RETURN(auto dims, CheckDims({tensor.dims().begin(), tensor.dims().end()}, spec, side, rule));
    tensors.push_back({.name = spec.name, .dtype = spec.dtype, .dims = std::move(dims)});
  }
  return tensors;
}

Side Inputs(const Signature& signature) { return {"input", "INPUT__", signature.inputs}; }
Side Outputs(const Signature& signature) { return {"output", "OUTPUT__", signature.outputs}; }

template <typename Tensor>
bool FixesFirst(const google::protobuf::RepeatedPtrField<Tensor>& written, const Side& side) {
  return std::any_of(written.begin(), written.end(), [&](const Tensor& tensor) {
    const std::optional<size_t> position = FindSpec(tensor.name(), side);
    return position && tensor.dims_size() > 0 && tensor.dims(0) > 0 &&
           static_cast<size_t>(tensor.dims_size()) == side.specs[*position].shape.size();
  });
}

template <typename Tensor>
void WriteSide(const std::vector<TensorConfig>& tensors, const Side& side,
               google::protobuf::RepeatedPtrField<Tensor>& written) {
  google::protobuf::RepeatedPtrField<Tensor> complete;
  for (size_t i = 0; i < tensors.size(); ++i) {
    Tensor& tensor = *complete.Add();
    for (const Tensor& candidate : written) {
      if (FindSpec(candidate.name(), side) == i) tensor = candidate;
    }
    tensor.set_name(tensors[i].name);
    tensor.set_data_type(ToProto(tensors[i].dtype));
    tensor.mutable_dims()->Assign(tensors[i].dims.begin(), tensors[i].dims.end());
  }
  written.Swap(&complete);
}

// Names alone, for FindSpec over what is already resolved.
std::vector<TensorSpec> SpecsOf(const std::vector<TensorConfig>& tensors) {
  std::vector<TensorSpec> specs;
  for (const TensorConfig& tensor : tensors) specs.push_back({.name = tensor.name, .dtype = tensor.dtype, .shape = {}});
  return specs;
}

}  // namespace

bool FixesFirstExtent(const Proto& written, const Signature& signature) {
  return FixesFirst(written.input(), Inputs(signature)) || FixesFirst(written.output(), Outputs(signature));
}

Status ResolveTensors(const Proto& written, bool implicit_batch_only, const Signature& signature,
                      ModelConfig& config) {
  const DimsRule rule{.batches = config.max_batch_size > 0, .implicit_batch_only = implicit_batch_only};
  TONDAR_ASSIGN_OR_RETURN(config.inputs,
                          ResolveSide(written.input(), Inputs(signature), rule, signature, config.warnings));
  TONDAR_ASSIGN_OR_RETURN(config.outputs,
                          ResolveSide(written.output(), Outputs(signature), rule, signature, config.warnings));
  for (const auto& input : written.input()) {
    if (!input.optional() || std::any_of(signature.constants.begin(), signature.constants.end(),
                                         [&](const ConstantSpec& c) { return c.name == input.name(); })) {
      continue;
    }
    return InvalidArgument("config: input '{}' is marked optional, but the model file needs it", input.name());
  }
  return OkStatus();
}

void WriteTensors(const ModelConfig& config, Proto& proto) {
  const std::vector<TensorSpec> inputs = SpecsOf(config.inputs), outputs = SpecsOf(config.outputs);
  WriteSide(config.inputs, {"input", "INPUT__", inputs}, *proto.mutable_input());
  WriteSide(config.outputs, {"output", "OUTPUT__", outputs}, *proto.mutable_output());
}

}  // namespace tondar
