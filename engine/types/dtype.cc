#include "engine/types/dtype.h"

#include <bit>
#include <cmath>

namespace tondar {
namespace {

constexpr DTypeInfo kInfo[kDTypeCount] = {
    {"invalid", "", 0, DTypeKind::kNone},
    {"bool", "BOOL", 1, DTypeKind::kBool},
    {"uint8", "UINT8", 1, DTypeKind::kUnsigned},
    {"uint16", "UINT16", 2, DTypeKind::kUnsigned},
    {"uint32", "UINT32", 4, DTypeKind::kUnsigned},
    {"uint64", "UINT64", 8, DTypeKind::kUnsigned},
    {"int8", "INT8", 1, DTypeKind::kSigned},
    {"int16", "INT16", 2, DTypeKind::kSigned},
    {"int32", "INT32", 4, DTypeKind::kSigned},
    {"int64", "INT64", 8, DTypeKind::kSigned},
    {"float16", "FP16", 2, DTypeKind::kFloat},
    {"bfloat16", "BF16", 2, DTypeKind::kFloat},
    {"float32", "FP32", 4, DTypeKind::kFloat},
    {"float64", "FP64", 8, DTypeKind::kFloat},
    {"complex64", "", 8, DTypeKind::kComplex},
    {"complex128", "", 16, DTypeKind::kComplex},
    {"float8_e4m3fn", "", 1, DTypeKind::kFloat},
    {"float8_e5m2", "", 1, DTypeKind::kFloat},
    {"float8_e4m3fnuz", "", 1, DTypeKind::kFloat},
    {"float8_e5m2fnuz", "", 1, DTypeKind::kFloat},
    {"float8_e8m0fnu", "", 1, DTypeKind::kFloat},
    {"bytes", "BYTES", 0, DTypeKind::kString},
};

std::optional<DType> Find(std::string_view text, std::string_view DTypeInfo::*field) {
  if (text.empty()) return std::nullopt;
  for (int i = 1; i < kDTypeCount; ++i) {
    if (kInfo[i].*field == text) return static_cast<DType>(i);
  }
  return std::nullopt;
}

// The signed type that holds every value of an unsigned one of `size` bytes and of a signed one of `other` bytes.
DType SignedHolding(size_t unsigned_size, size_t signed_size) {
  const size_t size = unsigned_size < signed_size ? signed_size : unsigned_size * 2;
  switch (size) {
    case 2: return DType::kInt16;
    case 4: return DType::kInt32;
    default: return DType::kInt64;
  }
}

DType PromoteFloats(DType a, DType b) {
  if (SizeOf(a) != SizeOf(b)) return SizeOf(a) > SizeOf(b) ? a : b;
  return DType::kFloat32;  // float16 with bfloat16
}

DType PromoteComplex(DType a, DType b) {
  const bool wide = a == DType::kComplex128 || b == DType::kComplex128 || a == DType::kFloat64 || b == DType::kFloat64;
  return wide ? DType::kComplex128 : DType::kComplex64;
}

}  // namespace

const DTypeInfo& InfoOf(DType dtype) { return kInfo[static_cast<size_t>(dtype)]; }

std::optional<DType> DTypeFromName(std::string_view name) { return Find(name, &DTypeInfo::name); }
std::optional<DType> DTypeFromWire(std::string_view wire) { return Find(wire, &DTypeInfo::wire); }

DType PromoteDTypes(DType a, DType b) {
  if (a == b) return a;
  if (IsComplex(a) || IsComplex(b)) return PromoteComplex(a, b);
  if (IsFloat(a) && IsFloat(b)) return PromoteFloats(a, b);
  if (IsFloat(a)) return a;
  if (IsFloat(b)) return b;
  if (a == DType::kBool) return b;
  if (b == DType::kBool) return a;
  const DTypeKind kind_a = InfoOf(a).kind, kind_b = InfoOf(b).kind;
  if (kind_a == kind_b) return SizeOf(a) > SizeOf(b) ? a : b;
  return kind_a == DTypeKind::kUnsigned ? SignedHolding(SizeOf(a), SizeOf(b)) : SignedHolding(SizeOf(b), SizeOf(a));
}

float BFloat16ToFloat(uint16_t bits) { return std::bit_cast<float>(static_cast<uint32_t>(bits) << 16); }

uint16_t FloatToBFloat16(float value) {
  const uint32_t bits = std::bit_cast<uint32_t>(value);
  if (std::isnan(value)) return static_cast<uint16_t>((bits >> 16) | 0x40);
  return static_cast<uint16_t>((bits + 0x7fff + ((bits >> 16) & 1)) >> 16);
}

float Float16ToFloat(uint16_t half) {
  const uint32_t sign = static_cast<uint32_t>(half & 0x8000) << 16;
  const uint32_t exponent = (half >> 10) & 0x1f, fraction = half & 0x3ff;
  if (exponent == 0x1f) return std::bit_cast<float>(sign | 0x7f800000 | (fraction << 13));
  if (exponent == 0) {  // zero or subnormal: fraction * 2^-24
    const float magnitude = std::ldexp(static_cast<float>(fraction), -24);
    return std::bit_cast<float>(sign | std::bit_cast<uint32_t>(magnitude));
  }
  return std::bit_cast<float>(sign | ((exponent + 112) << 23) | (fraction << 13));
}

uint16_t FloatToFloat16(float value) {
  const uint32_t bits = std::bit_cast<uint32_t>(value);
  const uint16_t sign = static_cast<uint16_t>((bits >> 16) & 0x8000);
  const float magnitude = std::fabs(value);
  if (std::isnan(value)) return static_cast<uint16_t>(sign | 0x7e00);
  if (magnitude >= 65520.0f) return static_cast<uint16_t>(sign | 0x7c00);  // rounds to infinity
  if (magnitude < 6.103515625e-05f) {                                      // below 2^-14: subnormal
    return static_cast<uint16_t>(sign | static_cast<uint16_t>(std::nearbyint(std::ldexp(magnitude, 24))));
  }
  const uint32_t m = std::bit_cast<uint32_t>(magnitude);
  return static_cast<uint16_t>(sign | ((m + 0xfff + ((m >> 13) & 1) - 0x38000000u) >> 13));
}

}  // namespace tondar
