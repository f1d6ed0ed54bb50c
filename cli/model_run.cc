#include "cli/model_run.h"

#include <unistd.h>

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <cstring>

#include "engine/plan/constant.h"

namespace tondar {
namespace {

// bfloat16 and the 8-bit floats have no name in npy files: their bits come as unsigned integers.
bool SameBits(DType wanted, DType found) {
  if (wanted == found) return true;
  if (wanted == DType::kBFloat16) return found == DType::kUInt16;
  return IsFloat(wanted) && SizeOf(wanted) == 1 && found == DType::kUInt8;
}

double ElementAsDouble(DType dtype, const std::byte* element) {
  auto read = [element]<typename T>(T value) {
    std::memcpy(&value, element, sizeof value);
    return value;
  };
  switch (dtype) {
    case DType::kBool:
    case DType::kUInt8: return read(uint8_t{});
    case DType::kUInt16: return read(uint16_t{});
    case DType::kUInt32: return read(uint32_t{});
    case DType::kUInt64: return static_cast<double>(read(uint64_t{}));
    case DType::kInt8: return read(int8_t{});
    case DType::kInt16: return read(int16_t{});
    case DType::kInt32: return read(int32_t{});
    case DType::kInt64: return static_cast<double>(read(int64_t{}));
    case DType::kFloat16: return Float16ToFloat(read(uint16_t{}));
    case DType::kBFloat16: return BFloat16ToFloat(read(uint16_t{}));
    case DType::kFloat32: return read(float{});
    case DType::kFloat64: return read(double{});
    default: return NAN;
  }
}

Status CheckConstants(const Signature& signature, const NpzReader& arrays) {
  for (const ConstantSpec& constant : signature.constants) {
    if (!arrays.Has(constant.name) || std::holds_alternative<std::string>(constant.value)) continue;
    TONDAR_ASSIGN_OR_RETURN(const NpyArray array, arrays.Get(constant.name));
    const double expected = std::visit(
        [](const auto& value) -> double {
          if constexpr (std::is_arithmetic_v<std::decay_t<decltype(value)>>) return static_cast<double>(value);
          return 0;
        },
        constant.value);
    const double found = array.view.elements() == 1 ? ElementAsDouble(array.view.dtype, array.view.data) : NAN;
    if (found != expected) {
      return InvalidArgument("input '{}' is a constant of this export: expected {}, found {}; leave it out or export "
                             "the model again", constant.name, expected, found);
    }
  }
  return OkStatus();
}

Status CheckNames(const Signature& signature, const NpzReader& arrays) {
  for (const std::string& name : arrays.names()) {
    const bool constant = std::any_of(signature.constants.begin(), signature.constants.end(),
                                      [&](const ConstantSpec& spec) { return spec.name == name; });
    if (constant || signature.FindInput(name) >= 0) continue;
    std::string known;
    for (const TensorSpec& spec : signature.inputs) known += (known.empty() ? "" : ", ") + spec.name;
    return InvalidArgument("the model has no input '{}'; its inputs are: {}", name, known);
  }
  return OkStatus();
}

Result<NpyArray> ReadInput(const TensorSpec& spec, const NpzReader& arrays) {
  if (!arrays.Has(spec.name)) {
    return InvalidArgument("input '{}' ({} {}) is missing among the arrays", spec.name, Name(spec.dtype),
                           ToString(WireShape(spec.shape)));
  }
  TONDAR_ASSIGN_OR_RETURN(NpyArray array, arrays.Get(spec.name));
  if (!SameBits(spec.dtype, array.view.dtype)) {
    return InvalidArgument("input '{}': expected {}, found {}", spec.name, Name(spec.dtype), Name(array.view.dtype));
  }
  array.view.dtype = spec.dtype;
  return array;
}

// Copies `from` into `to`, whose first extent may be larger: rows then repeat.
void CopyRepeating(const TensorView& from, const TensorView& to) {
  if (from.shape == to.shape) {
    CopyElements(from, to);
    return;
  }
  for (int64_t row = 0; row < to.shape[0]; ++row) {
    TensorView source = from, target = to;
    source.shape[0] = target.shape[0] = 1;
    const int64_t item = static_cast<int64_t>(SizeOf(from.dtype));
    source.data += (row % from.shape[0]) * from.strides[0] * item;
    target.data += row * to.strides[0] * item;
    CopyElements(source, target);
  }
}

Result<Difference> LargestDifference(const std::string& name, const TensorView& found, TensorView expected) {
  if (found.shape != expected.shape) {
    return InvalidArgument("output '{}': shape {}, expected {}", name, ToString(found.shape), ToString(expected.shape));
  }
  if (!SameBits(found.dtype, expected.dtype)) {
    return InvalidArgument("output '{}': {}, expected {}", name, Name(found.dtype), Name(expected.dtype));
  }
  expected.dtype = found.dtype;
  const Constant contiguous = CopyToConstant(name, expected);
  Difference largest;
  const size_t item = SizeOf(found.dtype);
  for (int64_t i = 0; i < found.elements(); ++i) {
    const double a = ElementAsDouble(found.dtype, found.data + static_cast<size_t>(i) * item);
    const double b = ElementAsDouble(found.dtype, contiguous.view.data + static_cast<size_t>(i) * item);
    if (a == b || (std::isnan(a) && std::isnan(b))) continue;
    if (std::isnan(a) || std::isnan(b)) {
      return InvalidArgument("output '{}': element {} is {}, expected {}", name, i, a, b);
    }
    largest.absolute = std::max(largest.absolute, std::fabs(a - b));
    largest.scaled = std::max(largest.scaled, std::isinf(b) ? std::fabs(a - b) : std::fabs(a - b) / (1 + std::fabs(b)));
  }
  return largest;
}

}  // namespace

Progress::Progress() : terminal_(::isatty(2) == 1) {}

void Progress::Show(std::string_view phase) {
  if (!terminal_) return;
  std::fprintf(stderr, "\r\x1b[K%.*s ...", static_cast<int>(phase.size()), phase.data());
  std::fflush(stderr);
  shown_ = true;
}

void Progress::Clear() {
  if (shown_) std::fprintf(stderr, "\r\x1b[K");
  shown_ = false;
}

Result<std::unique_ptr<ModelRun>> ModelRun::Create(const ModelRunOptions& options) {
  auto run = std::make_unique<ModelRun>();
  Progress progress;
  TONDAR_ASSIGN_OR_RETURN(run->engine_, Engine::Create({.cpu_isa = options.cpu_isa}));
  LoadOptions load;
  load.accelerator = options.accelerator;
  load.progress = [&progress](std::string_view phase) { progress.Show(phase); };
  TONDAR_ASSIGN_OR_RETURN(run->model_, run->engine_->Load(options.model, load));
  SessionOptions session;
  session.threads = options.threads;
  session.capture = options.capture;
  TONDAR_ASSIGN_OR_RETURN(run->session_, run->model_->CreateSession(session));
  return run;
}

Status ModelRun::SetInputs(const std::string& npz_path, int64_t batch) {
  const Signature& signature = model_->signature();
  TONDAR_ASSIGN_OR_RETURN(const NpzReader arrays, NpzReader::Open(npz_path));
  TONDAR_RETURN_IF_ERROR(CheckNames(signature, arrays));
  TONDAR_RETURN_IF_ERROR(CheckConstants(signature, arrays));
  if (batch > 0 && !signature.batchable) return InvalidArgument("the model has no batch dimension; leave --batch out");
  std::vector<NpyArray> inputs;
  std::vector<Dims> shapes;
  for (const TensorSpec& spec : signature.inputs) {
    TONDAR_ASSIGN_OR_RETURN(NpyArray array, ReadInput(spec, arrays));
    Dims shape = array.view.shape;
    if (batch > 0 && !shape.empty() && shape[0] > 0) shape[0] = batch;
    shapes.push_back(shape);
    inputs.push_back(std::move(array));
  }
  TONDAR_ASSIGN_OR_RETURN(binding_, session_->Bind(shapes));
  for (size_t i = 0; i < inputs.size(); ++i) CopyRepeating(inputs[i].view, binding_->inputs[i]);
  return OkStatus();
}

Status ModelRun::WriteOutputs(const std::string& npz_path, bool numbered) const {
  TONDAR_ASSIGN_OR_RETURN(NpzWriter writer, NpzWriter::Create(npz_path));
  const Signature& signature = model_->signature();
  for (size_t i = 0; i < signature.outputs.size(); ++i) {
    const std::string name = numbered ? fmt::format("out_{}", i) : signature.outputs[i].name;
    TONDAR_RETURN_IF_ERROR(writer.Add(name, binding_->outputs[i]));
  }
  return writer.Close();
}

Result<Difference> ModelRun::CompareOutputs(const std::string& npz_path) const {
  TONDAR_ASSIGN_OR_RETURN(const NpzReader expected, NpzReader::Open(npz_path));
  const std::vector<TensorSpec>& outputs = model_->signature().outputs;
  Difference largest;
  for (size_t i = 0; i < outputs.size(); ++i) {
    std::string key = outputs[i].name;
    if (!expected.Has(key)) {
      if (expected.names().size() != outputs.size()) {
        return InvalidArgument("{}: {} arrays, the model has {} outputs, and none is called '{}'", npz_path,
                               expected.names().size(), outputs.size(), key);
      }
      key = expected.names()[i];
    }
    TONDAR_ASSIGN_OR_RETURN(const NpyArray array, expected.Get(key));
    TONDAR_ASSIGN_OR_RETURN(const Difference difference, LargestDifference(key, binding_->outputs[i], array.view));
    largest.absolute = std::max(largest.absolute, difference.absolute);
    largest.scaled = std::max(largest.scaled, difference.scaled);
  }
  return largest;
}

int Fail(std::string_view verb, const Status& status) {
  std::fprintf(stderr, "tondar %.*s: %s\n", static_cast<int>(verb.size()), verb.data(),
               std::string(status.message()).c_str());
  return 1;
}

}  // namespace tondar
