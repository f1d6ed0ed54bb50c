#include "engine/types/float8.h"

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>

namespace tondar {
namespace {

struct Format {
  int mantissa, bias;
  uint8_t largest;   // code of the largest finite number
  uint8_t overflow;  // what larger numbers become
  uint8_t nan;
  bool has_infinity;
  bool unsigned_zero;  // 0x80 is NaN, and there is no minus zero
};

// Sources: OCP 8-bit floating point specification 1.0 (E4M3, E5M2); Noune et al. 2022 (FNUZ).
constexpr Format kFormats[] = {
    {3, 7, 0x7e, 0x7e, 0x7f, false, false},   // E4M3FN: stays at 448, as torch 2.15 has it
    {2, 15, 0x7b, 0x7c, 0x7f, true, false},   // E5M2
    {3, 8, 0x7f, 0x80, 0x80, false, true},    // E4M3FNUZ
    {2, 16, 0x7f, 0x80, 0x80, false, true},   // E5M2FNUZ
};

const Format& FormatOf(DType dtype) { return kFormats[static_cast<int>(dtype) - static_cast<int>(DType::kFloat8E4M3FN)]; }

float Decode(DType dtype, uint8_t bits) {
  if (dtype == DType::kFloat8E8M0) return bits == 0xff ? NAN : std::ldexp(1.0F, static_cast<int>(bits) - 127);
  const Format& format = FormatOf(dtype);
  const uint8_t magnitude = bits & 0x7f;
  if (format.unsigned_zero ? bits == 0x80 : magnitude > (format.has_infinity ? format.overflow : format.largest)) return NAN;
  const float sign = (bits & 0x80) != 0 ? -1.0F : 1.0F;
  if (format.has_infinity && magnitude == format.overflow) return sign * INFINITY;
  const int exponent = magnitude >> format.mantissa, fraction = magnitude & ((1 << format.mantissa) - 1);
  const int significand = fraction + (exponent > 0 ? 1 << format.mantissa : 0);
  return sign * std::ldexp(static_cast<float>(significand), (exponent > 0 ? exponent : 1) - format.bias - format.mantissa);
}

using Table = std::array<float, 256>;

const Table& TableOf(DType dtype) {
  static const std::array<Table, 5> kTables = [] {
    std::array<Table, 5> tables{};
    for (size_t t = 0; t < tables.size(); ++t) {
      const auto of = static_cast<DType>(static_cast<size_t>(DType::kFloat8E4M3FN) + t);
      for (size_t bits = 0; bits < 256; ++bits) tables[t][bits] = Decode(of, static_cast<uint8_t>(bits));
    }
    return tables;
  }();
  return kTables[static_cast<size_t>(dtype) - static_cast<size_t>(DType::kFloat8E4M3FN)];
}

// The exponent, one more if what is below it is more than half, or half beside an exponent that is not zero.
uint8_t EncodeE8M0(float value) {
  const uint32_t bits = std::bit_cast<uint32_t>(value), exponent = bits >> 23 & 0xff, rest = bits & 0x7fffff;
  if (exponent == 0xff) return 0xff;
  constexpr uint32_t kHalf = 0x400000;
  const bool up = rest > kHalf || (rest == kHalf && exponent > 0);
  return static_cast<uint8_t>(exponent + (up ? 1 : 0));
}

}  // namespace

float Float8ToFloat(DType dtype, uint8_t bits) { return TableOf(dtype)[bits]; }

uint8_t FloatToFloat8(DType dtype, float value) {
  if (dtype == DType::kFloat8E8M0) return EncodeE8M0(value);
  const Format& format = FormatOf(dtype);
  const uint8_t sign = std::signbit(value) ? 0x80 : 0;
  if (std::isnan(value)) return format.unsigned_zero ? format.nan : static_cast<uint8_t>(sign | format.nan);
  const auto overflow = [&] { return format.unsigned_zero ? format.overflow : static_cast<uint8_t>(sign | format.overflow); };
  const float magnitude = std::fabs(value);
  if (std::isinf(magnitude)) return overflow();
  if (magnitude == 0) return format.unsigned_zero ? 0 : sign;
  int exponent = 0;
  std::frexp(magnitude, &exponent);  // magnitude < 2^exponent
  exponent = std::max(exponent - 1, 1 - format.bias);
  // In units of the last place: the current rounding mode is to nearest even.
  const auto units = static_cast<int>(std::nearbyint(std::ldexp(magnitude, format.mantissa - exponent)));
  // A carry out of the significand is the next exponent's first code, so codes simply add up.
  const int code = ((exponent + format.bias - 1) << format.mantissa) + units;
  if (code > format.largest) return overflow();
  if (code == 0) return format.unsigned_zero ? 0 : sign;
  return static_cast<uint8_t>(sign | code);
}

}  // namespace tondar
