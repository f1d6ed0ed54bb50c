// Element types of tensors inside the engine.
#ifndef TONDAR_ENGINE_TYPES_DTYPE_H_
#define TONDAR_ENGINE_TYPES_DTYPE_H_

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string_view>

namespace tondar {

// The numbers are stored in packages: append only.
enum class DType : uint8_t {
  kInvalid = 0,
  kBool = 1,
  kUInt8 = 2,
  kUInt16 = 3,
  kUInt32 = 4,
  kUInt64 = 5,
  kInt8 = 6,
  kInt16 = 7,
  kInt32 = 8,
  kInt64 = 9,
  kFloat16 = 10,
  kBFloat16 = 11,
  kFloat32 = 12,
  kFloat64 = 13,
  kComplex64 = 14,
  kComplex128 = 15,
  kFloat8E4M3FN = 16,
  kFloat8E5M2 = 17,
  kFloat8E4M3FNUZ = 18,
  kFloat8E5M2FNUZ = 19,
  kFloat8E8M0 = 20,  // MX block scale: 2^(byte-127), 255 = NaN
  kString = 21,      // variable-length bytes; lives at the server's door, steps never see it
};
inline constexpr int kDTypeCount = 22;

enum class DTypeKind : uint8_t { kNone, kBool, kUnsigned, kSigned, kFloat, kComplex, kString };

struct DTypeInfo {
  std::string_view name;   // "float32"
  std::string_view wire;   // KServe v2 datatype, "FP32"; empty where the protocol has none
  uint8_t size_bytes;      // 0 for kString and kInvalid
  DTypeKind kind;
};

const DTypeInfo& InfoOf(DType dtype);
inline std::string_view Name(DType dtype) { return InfoOf(dtype).name; }
inline std::string_view WireName(DType dtype) { return InfoOf(dtype).wire; }
inline size_t SizeOf(DType dtype) { return InfoOf(dtype).size_bytes; }
inline bool IsFloat(DType dtype) { return InfoOf(dtype).kind == DTypeKind::kFloat; }
inline bool IsComplex(DType dtype) { return InfoOf(dtype).kind == DTypeKind::kComplex; }
inline bool IsInteger(DType dtype) {  // bool is not an integer
  return InfoOf(dtype).kind == DTypeKind::kSigned || InfoOf(dtype).kind == DTypeKind::kUnsigned;
}

// The dtype with this name or wire name; nullopt if there is none.
std::optional<DType> DTypeFromName(std::string_view name);
std::optional<DType> DTypeFromWire(std::string_view wire);

// PyTorch's promotion of two tensor dtypes (torch.promote_types), e.g. int64 + float32 = float32, uint8 + int8 = int16.
DType PromoteDTypes(DType a, DType b);

// Bit conversions of the 16-bit floats; round to nearest even, NaN stays NaN.
float Float16ToFloat(uint16_t bits);
uint16_t FloatToFloat16(float value);
float BFloat16ToFloat(uint16_t bits);
uint16_t FloatToBFloat16(float value);

}  // namespace tondar

#endif  // TONDAR_ENGINE_TYPES_DTYPE_H_
