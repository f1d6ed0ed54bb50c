#include "engine/importers/onnx/tensors.h"

#include <algorithm>
#include <charconv>
#include <cstring>
#include <filesystem>
#include <optional>
#include <vector>

#include "engine/ir/element.h"
#include "onnx.pb.h"

namespace tondar::onnx_format {
namespace {

using onnx::TensorProto;

struct DTypeRow {
  std::string_view name;
  DType dtype;          // kInvalid: not supported
  int bits;             // of one element in raw_data
};
// By TensorProto.DataType.
constexpr DTypeRow kDTypes[] = {
    {"UNDEFINED", DType::kInvalid, 0},
    {"FLOAT", DType::kFloat32, 32},
    {"UINT8", DType::kUInt8, 8},
    {"INT8", DType::kInt8, 8},
    {"UINT16", DType::kUInt16, 16},
    {"INT16", DType::kInt16, 16},
    {"INT32", DType::kInt32, 32},
    {"INT64", DType::kInt64, 64},
    {"STRING", DType::kInvalid, 0},
    {"BOOL", DType::kBool, 8},
    {"FLOAT16", DType::kFloat16, 16},
    {"DOUBLE", DType::kFloat64, 64},
    {"UINT32", DType::kUInt32, 32},
    {"UINT64", DType::kUInt64, 64},
    {"COMPLEX64", DType::kComplex64, 64},
    {"COMPLEX128", DType::kComplex128, 128},
    {"BFLOAT16", DType::kBFloat16, 16},
    {"FLOAT8E4M3FN", DType::kFloat8E4M3FN, 8},
    {"FLOAT8E4M3FNUZ", DType::kFloat8E4M3FNUZ, 8},
    {"FLOAT8E5M2", DType::kFloat8E5M2, 8},
    {"FLOAT8E5M2FNUZ", DType::kFloat8E5M2FNUZ, 8},
    {"UINT4", DType::kUInt8, 4},
    {"INT4", DType::kInt8, 4},
    {"FLOAT4E2M1", DType::kInvalid, 4},
    {"FLOAT8E8M0", DType::kFloat8E8M0, 8},
    {"UINT2", DType::kUInt8, 2},
    {"INT2", DType::kInt8, 2},
};
constexpr int32_t kString = 8;
constexpr int kExternal = 1;  // TensorProto.DataLocation
constexpr int64_t kMaxDenseElements = int64_t{1} << 28;  // of a sparse tensor, whose file may be small

const DTypeRow* RowOf(int32_t onnx_dtype) {
  if (onnx_dtype < 0 || static_cast<size_t>(onnx_dtype) >= std::size(kDTypes)) return nullptr;
  return &kDTypes[onnx_dtype];
}

// The shape, checked: a rank that fits, no negative size, a countable number of bytes.
Result<Dims> ShapeOf(std::span<const int64_t> sizes, size_t element_bytes) {
  if (sizes.size() > static_cast<size_t>(kMaxRank)) return Unimplemented("rank {} is above {}", sizes.size(), kMaxRank);
  const Dims shape{sizes};
  const std::optional<int64_t> count = CheckedElementCount(shape.span());
  int64_t bytes = 0;
  if (!count || __builtin_mul_overflow(*count, static_cast<int64_t>(element_bytes), &bytes)) {
    return InvalidArgument("shape {} is negative or too large", ToString(shape));
  }
  return shape;
}

Result<Dims> ShapeOf(const TensorProto& tensor, size_t element_bytes) {
  return ShapeOf({tensor.dims().data(), static_cast<size_t>(tensor.dims_size())}, element_bytes);
}

std::string Name(const Dims& shape, const DTypeRow& row) { return fmt::format("{} {}", row.name, ToString(shape)); }

// How many bytes `count` elements of less than 8 bits take.
uint64_t PackedBytes(uint64_t count, const DTypeRow& row) {
  const uint64_t per_byte = 8 / static_cast<uint64_t>(row.bits);
  return count / per_byte + (count % per_byte != 0 ? 1 : 0);
}

// Elements of 4 or 2 bits, the first in the low bits, become one byte each.
Result<Constant> Unpack(const std::string& name, const DTypeRow& row, const Dims& shape, std::span<const std::byte> packed) {
  const int64_t count = ElementCount(shape), per_byte = 8 / row.bits;
  const uint64_t needed = PackedBytes(static_cast<uint64_t>(count), row);
  if (packed.size() != needed) {
    return InvalidArgument("{} needs {} bytes, found {}", Name(shape, row), needed, packed.size());
  }
  Constant constant = AllocateConstant(name, row.dtype, shape);
  const int top = 1 << (row.bits - 1);
  for (int64_t i = 0; i < count; ++i) {
    const int byte = static_cast<uint8_t>(packed[static_cast<size_t>(i / per_byte)]);
    int value = byte >> (i % per_byte * row.bits) & ((1 << row.bits) - 1);
    if (row.dtype == DType::kInt8) value = (value ^ top) - top;
    constant.view.data[i] = static_cast<std::byte>(value);
  }
  return constant;
}

template <typename To, typename Field>
Result<Constant> FromField(const std::string& name, const DTypeRow& row, const Dims& shape, const Field& field, int per_element = 1) {
  const int64_t count = ElementCount(shape);
  if (field.size() != count * per_element) {
    return InvalidArgument("{} has {} elements, found {}", Name(shape, row), count, field.size() / per_element);
  }
  Constant constant = AllocateConstant(name, row.dtype, shape);
  for (int i = 0; i < field.size(); ++i) {
    const To value = static_cast<To>(field.Get(i));
    std::memcpy(constant.view.data + static_cast<size_t>(i) * sizeof(To), &value, sizeof(To));
  }
  return constant;
}

// Values in the typed fields; the ONNX specification says which dtype uses which.
Result<Constant> FromTypedFields(const TensorProto& tensor, const std::string& name, const DTypeRow& row, const Dims& shape) {
  if (row.bits < 8) {
    std::string packed;  // int32_data holds one packed byte per entry
    for (const int32_t value : tensor.int32_data()) packed += static_cast<char>(value);
    return Unpack(name, row, shape, std::as_bytes(std::span(packed)));
  }
  switch (row.dtype) {
    case DType::kFloat32: return FromField<float>(name, row, shape, tensor.float_data());
    case DType::kComplex64: return FromField<float>(name, row, shape, tensor.float_data(), 2);
    case DType::kFloat64: return FromField<double>(name, row, shape, tensor.double_data());
    case DType::kComplex128: return FromField<double>(name, row, shape, tensor.double_data(), 2);
    case DType::kInt64: return FromField<int64_t>(name, row, shape, tensor.int64_data());
    case DType::kUInt64: return FromField<uint64_t>(name, row, shape, tensor.uint64_data());
    case DType::kUInt32: return FromField<uint32_t>(name, row, shape, tensor.uint64_data());
    case DType::kInt32: return FromField<int32_t>(name, row, shape, tensor.int32_data());
    default: break;
  }
  if (row.bits == 16) return FromField<uint16_t>(name, row, shape, tensor.int32_data());
  return FromField<uint8_t>(name, row, shape, tensor.int32_data());
}

// Where external_data says that the bytes are.
struct ExternalPlace {
  std::string location;
  uint64_t offset = 0;
  std::optional<uint64_t> length;
};

Result<uint64_t> Count(const std::string& key, const std::string& text) {
  uint64_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end != text.data() + text.size()) {
    return InvalidArgument("external data: {} '{}' is no number", key, text);
  }
  return value;
}

Result<ExternalPlace> PlaceOf(const TensorProto& tensor) {
  ExternalPlace place;
  for (const auto& entry : tensor.external_data()) {
    if (entry.key() == "location") place.location = entry.value();
    if (entry.key() == "offset") {
      TONDAR_ASSIGN_OR_RETURN(place.offset, Count(entry.key(), entry.value()));
    }
    if (entry.key() == "length") {
      TONDAR_ASSIGN_OR_RETURN(place.length, Count(entry.key(), entry.value()));
    }
  }
  const std::filesystem::path path(place.location);
  bool leaves = path.is_absolute();
  for (const auto& part : path) leaves = leaves || part == "..";
  if (place.location.empty() || place.location.find('\0') != std::string::npos || leaves) {
    return InvalidArgument("external data: location '{}' must be a file within the model's folder", place.location);
  }
  return place;
}

}  // namespace

std::string DTypeName(int32_t onnx_dtype) {
  const DTypeRow* row = RowOf(onnx_dtype);
  return row == nullptr ? fmt::format("data type {}", onnx_dtype) : std::string(row->name);
}

Result<DType> DTypeOf(int32_t onnx_dtype) {
  const DTypeRow* row = RowOf(onnx_dtype);
  if (row == nullptr || row->dtype == DType::kInvalid) return Unimplemented("dtype {}", DTypeName(onnx_dtype));
  return row->dtype;
}

Result<Tensors::Place> Tensors::External(const TensorProto& tensor) {
  TONDAR_ASSIGN_OR_RETURN(const ExternalPlace stated, PlaceOf(tensor));
  std::unique_ptr<const FileSource>& file = external_[stated.location];
  if (file == nullptr) {
    const auto path = std::filesystem::path(file_.name()).parent_path() / stated.location;
    Result<std::unique_ptr<FileSource>> opened = FileSource::Open(path.string());
    if (!opened.ok()) return opened.status().Annotated("external data");
    file = *std::move(opened);
  }
  const uint64_t rest = stated.offset <= file->size() ? file->size() - stated.offset : 0;
  const uint64_t length = stated.length.value_or(rest);
  if (stated.offset > file->size() || length > rest) {
    return InvalidArgument("external data: {} bytes at {} do not fit the {} bytes of '{}'", length, stated.offset,
                           file->size(), stated.location);
  }
  return Place{.file = file.get(), .offset = stated.offset, .size = length, .open_ended = !stated.length, .held = {}};
}

Result<Tensors::Place> Tensors::Raw(const TensorProto& tensor) {
  if (tensor.data_location() == kExternal) return External(tensor);
  if (tensor.has_raw_length()) {
    return Place{.file = &file_, .offset = tensor.raw_offset(), .size = tensor.raw_length(), .open_ended = false, .held = {}};
  }
  const std::string& held = tensor.raw_data();
  return Place{.file = nullptr, .offset = 0, .size = held.size(), .open_ended = false, .held = std::as_bytes(std::span(held))};
}

Status Tensors::Copy(const Place& place, std::span<std::byte> to) {
  if (place.file != nullptr) return place.file->Read(place.offset, to);
  std::copy(place.held.begin(), place.held.end(), to.begin());
  return OkStatus();
}

Result<Tensors::Stored> Tensors::Locate(const TensorProto& tensor) {
  const DTypeRow* row = RowOf(tensor.data_type());
  if (row == nullptr || row->dtype == DType::kInvalid) {
    return Unimplemented("dtype {}{}", DTypeName(tensor.data_type()), tensor.data_type() == kString ? " of a constant" : "");
  }
  Stored stored;
  TONDAR_ASSIGN_OR_RETURN(stored.shape, ShapeOf(tensor, SizeOf(row->dtype)));
  stored.typed = tensor.data_location() != kExternal && !tensor.has_raw_length() && !tensor.has_raw_data();
  if (stored.typed) return stored;
  TONDAR_ASSIGN_OR_RETURN(stored.place, Raw(tensor));
  const auto count = static_cast<uint64_t>(ElementCount(stored.shape));
  const uint64_t expected = row->bits < 8 ? PackedBytes(count, *row) : count * SizeOf(row->dtype);
  // An external file without a length may go on.
  if (stored.place.open_ended && stored.place.size > expected) stored.place.size = expected;
  if (stored.place.size != expected) {
    return InvalidArgument("{} needs {} bytes, found {}", Name(stored.shape, *row), expected, stored.place.size);
  }
  return stored;
}

Result<Constant> Tensors::Read(const TensorProto& tensor, const std::string& name) {
  TONDAR_ASSIGN_OR_RETURN(const Stored stored, Locate(tensor));
  const DTypeRow& row = *RowOf(tensor.data_type());
  if (stored.typed) return FromTypedFields(tensor, name, row, stored.shape);
  if (row.bits < 8) {
    std::vector<std::byte> packed(static_cast<size_t>(stored.place.size));
    TONDAR_RETURN_IF_ERROR(Copy(stored.place, packed));
    return Unpack(name, row, stored.shape, packed);
  }
  Constant constant = AllocateConstant(name, row.dtype, stored.shape);
  TONDAR_RETURN_IF_ERROR(Copy(stored.place, constant.view.bytes()));
  return constant;
}

Status Tensors::Check(const TensorProto& tensor) {
  TONDAR_ASSIGN_OR_RETURN(const Stored stored, Locate(tensor));
  return stored.typed ? Read(tensor, "").status() : OkStatus();
}

Status Tensors::CheckUnchanged() const {
  for (const auto& [location, file] : external_) {
    if (file != nullptr) TONDAR_RETURN_IF_ERROR(file->CheckUnchanged().Annotated("external data"));
  }
  return OkStatus();
}

Result<Constant> Tensors::ReadSparse(const onnx::SparseTensorProto& tensor, const std::string& name) {
  TONDAR_ASSIGN_OR_RETURN(const Constant values, Read(tensor.values(), name));
  TONDAR_ASSIGN_OR_RETURN(const Constant indices, Read(tensor.indices(), name));
  const size_t element = SizeOf(values.view.dtype);
  TONDAR_ASSIGN_OR_RETURN(const Dims shape, ShapeOf({tensor.dims().data(), static_cast<size_t>(tensor.dims_size())}, element));
  const int64_t count = values.view.elements(), rank = shape.rank();
  const bool linear = indices.view.shape.rank() == 1;  // else one row of positions per value
  if (indices.view.dtype != DType::kInt64 || indices.view.elements() != (linear ? count : count * rank)) {
    return InvalidArgument("sparse tensor: indices {} do not fit {} values", ToString(indices.view.shape), count);
  }
  if (ElementCount(shape) > kMaxDenseElements) return Unimplemented("a sparse tensor of {} elements", ElementCount(shape));
  Constant dense = AllocateConstant(name, values.view.dtype, shape);
  std::memset(dense.view.data, 0, dense.view.size_bytes());
  const int64_t* index = indices.view.as<int64_t>();
  for (int64_t i = 0; i < count; ++i) {
    int64_t at = linear ? index[i] : 0;
    bool inside = linear ? at >= 0 && at < ElementCount(shape) : true;
    for (int64_t d = 0; !linear && d < rank; ++d) {
      const int64_t position = index[i * rank + d], extent = shape[static_cast<size_t>(d)];
      inside = inside && position >= 0 && position < extent;
      at = at * extent + position;
    }
    if (!inside) return InvalidArgument("sparse tensor: the position of value {} is outside {}", i, ToString(shape));
    std::memcpy(dense.view.data + static_cast<size_t>(at) * element, values.view.data + static_cast<size_t>(i) * element, element);
  }
  return dense;
}

}  // namespace tondar::onnx_format
