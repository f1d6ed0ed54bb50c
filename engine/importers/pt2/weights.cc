#include "engine/importers/pt2/weights.h"

#include <utility>

#include "engine/importers/pt2/program_reader.h"

namespace tondar::pt2 {
namespace {

// Strides of 0 let a small record claim any number of elements.
constexpr int64_t kMaxElements = int64_t{1} << 36;

std::string Text(const std::vector<Number>& numbers) {
  std::string text;
  for (const Number& number : numbers) {
    const Dim* dim = AsDim(number);
    text += fmt::format("{}{}", text.empty() ? "" : ", ", dim ? dim->ToString() : "?");
  }
  return fmt::format("[{}]", text);
}

std::optional<Dims> Constants(const std::vector<Number>& numbers) {
  Dims dims;
  for (const Number& number : numbers) {
    const Dim* dim = AsDim(number);
    if (dim == nullptr || !dim->IsConstant() || dim->constant() < 0) return std::nullopt;
    dims.push_back(dim->constant());
  }
  return dims;
}

// Bytes from the storage's begin to the end of the last element; nullopt on overflow.
std::optional<uint64_t> EndOf(const Dims& sizes, const Dims& strides, int64_t offset, size_t element_bytes) {
  int64_t last = offset, span = 0, end = 0;
  for (size_t i = 0; i < sizes.size(); ++i) {
    if (__builtin_mul_overflow(sizes[i] - 1, strides[i], &span) || __builtin_add_overflow(last, span, &last)) {
      return std::nullopt;
    }
  }
  if (__builtin_add_overflow(last, 1, &last) ||
      __builtin_mul_overflow(last, static_cast<int64_t>(element_bytes), &end)) {
    return std::nullopt;
  }
  return static_cast<uint64_t>(end);
}

}  // namespace

Weights::Weights(const Archive& archive, std::string_view program_name, Problems& problems)
    : archive_(archive), problems_(problems) {
  weights_ = ReadFolder("data/weights/", program_name, {"_weights_config.json", "_model_param_config.json"});
  constants_ = ReadFolder("data/constants/", program_name, {"_constants_config.json", "_model_constants_config.json"});
}

// The names differ between releases; the first that exists counts.
Weights::Folder Weights::ReadFolder(std::string path, std::string_view program_name,
                                    std::initializer_list<std::string_view> configs) {
  Folder folder{.path = std::move(path), .payloads = {}};
  for (const std::string_view config : configs) {
    const std::string name = fmt::format("{}{}{}", folder.path, program_name, config);
    const ZipRecord* record = archive_.Find(name);
    if (record == nullptr) continue;
    if (const auto text = archive_.ReadText(*record, problems_)) folder.payloads = ReadPayloads(name, *text, problems_);
    return folder;
  }
  return folder;  // a model without weights may have none
}

std::pair<const Weights::Folder*, const Payload*> Weights::Find(const std::string& name) const {
  for (const Folder* folder : {&weights_, &constants_}) {
    const auto it = folder->payloads.find(name);
    if (it != folder->payloads.end()) return {folder, &it->second};
  }
  return {nullptr, nullptr};
}

bool Weights::Check(InputSpec::Kind kind, const std::string& name) {
  if (kind == InputSpec::Kind::kCustomObject) return true;  // counts only if used
  const auto [folder, payload] = Find(name);
  if (payload == nullptr) {
    problems_.Broken("tensor '{}' is in neither {} nor {}", name, weights_.path, constants_.path);
    return false;
  }
  const ZipRecord* record = archive_.Find(folder->path + payload->record);
  if (record == nullptr) {
    problems_.Broken("tensor '{}': record '{}{}' is missing", name, folder->path, payload->record);
    return false;
  }
  return payload->pickled || !payload->meta || Locate(name, *payload, *record).has_value();
}

std::optional<Weights::Extent> Weights::Locate(const std::string& name, const Payload& payload,
                                               const ZipRecord& record) {
  const TensorMeta& meta = *payload.meta;
  if (meta.dtype == DType::kInvalid || meta.sizes.size() > kMaxRank || !meta.strided) return Extent{};
  if (meta.sizes.size() != meta.strides.size()) return std::nullopt;  // reported when it was read
  const std::optional<Dims> sizes = Constants(meta.sizes), strides = Constants(meta.strides);
  const Dim* offset = AsDim(meta.storage_offset);
  if (!sizes || !strides || !offset || !offset->IsConstant() || offset->constant() < 0 ||
      CheckedElementCount(sizes->span()).value_or(kMaxElements) >= kMaxElements) {
    problems_.Broken("tensor '{}': sizes {} and strides {} must be numbers, not negative and of a countable whole",
                     name, Text(meta.sizes), Text(meta.strides));
    return std::nullopt;
  }
  Extent extent{.dtype = meta.dtype, .sizes = *sizes, .strides = *strides};
  if (ElementCount(*sizes) == 0) return extent;
  const std::optional<uint64_t> end = EndOf(*sizes, *strides, offset->constant(), SizeOf(meta.dtype));
  if (!end || *end > record.size) {
    problems_.Broken("tensor '{}': {} {} with strides {} at {} does not fit the {} bytes of record '{}'", name,
                     Name(meta.dtype), ToString(*sizes), ToString(*strides), offset->constant(), record.size,
                     record.name);
    return std::nullopt;
  }
  extent.offset_bytes = static_cast<uint64_t>(offset->constant()) * SizeOf(meta.dtype);
  return extent;
}

std::optional<OwnedBytes> Weights::Storage(const ZipRecord& record) {
  if (const auto it = storages_.find(record.name); it != storages_.end()) return it->second;
  const std::optional<OwnedBytes> read = archive_.Read(record, problems_);
  if (!read) return std::nullopt;
  return storages_.emplace(record.name, *read).first->second;
}

std::optional<Constant> Weights::Get(InputSpec::Kind kind, const std::string& name, std::string_view node) {
  const auto [folder, payload] = Find(name);
  if (kind == InputSpec::Kind::kCustomObject || (payload != nullptr && !payload->meta)) {
    problems_.Unsupported(fmt::format("custom object '{}'", name), node);
    return std::nullopt;
  }
  const ZipRecord* record = payload == nullptr ? nullptr : archive_.Find(folder->path + payload->record);
  if (record == nullptr) return std::nullopt;  // Check() has said so
  const TensorMeta& meta = *payload->meta;
  if (payload->pickled) {
    problems_.Unsupported(fmt::format("pickled tensor subclass '{}', which is never opened; unwrap it before exporting "
                                      "with run_decompositions() or torchao's unwrap_tensor_subclass()",
                                      name),
                          node);
    return std::nullopt;
  }
  if (meta.dtype == DType::kInvalid || !meta.strided || meta.sizes.size() > kMaxRank) {
    const std::string what = meta.dtype == DType::kInvalid ? fmt::format("dtype {}", meta.dtype_name)
                             : !meta.strided               ? std::string("a layout that is not strided")
                                                           : fmt::format("rank {}", meta.sizes.size());
    problems_.Unsupported(fmt::format("{} of tensor '{}'", what, name), node);
    return std::nullopt;
  }
  const std::optional<Extent> extent = Locate(name, *payload, *record);
  if (!extent) return std::nullopt;
  const std::optional<OwnedBytes> storage = Storage(*record);
  if (!storage) return std::nullopt;
  Constant constant;
  constant.name = name;
  // Never written through: a Constant's bytes are read-only by contract.
  constant.view.data = const_cast<std::byte*>(storage->bytes.data()) + extent->offset_bytes;
  constant.view.dtype = extent->dtype;
  constant.view.shape = extent->sizes;
  constant.view.strides = extent->strides;
  constant.owner = storage->owner;
  return constant;
}

}  // namespace tondar::pt2
