#include "engine/accelerators/cpu/operand_packing.h"

#include <cstring>

namespace tondar::cpu {
namespace {

struct Half {
  uint16_t bits;
};
struct BFloat {
  uint16_t bits;
};

template <class To, class From>
To Convert(From value) {
  return static_cast<To>(value);
}
template <class To>
To Convert(Half value) {
  return static_cast<To>(Float16ToFloat(value.bits));
}
template <class To>
To Convert(BFloat value) {
  uint32_t bits = static_cast<uint32_t>(value.bits) << 16;
  float result;
  std::memcpy(&result, &bits, sizeof(result));
  return static_cast<To>(result);
}

// Calls body(const From* pointer) with the C++ type of a dtype.
template <class Body>
void WithSource(DType dtype, const std::byte* data, Body&& body) {
  switch (dtype) {
    case DType::kFloat32: return body(reinterpret_cast<const float*>(data));
    case DType::kFloat64: return body(reinterpret_cast<const double*>(data));
    case DType::kFloat16: return body(reinterpret_cast<const Half*>(data));
    case DType::kBFloat16: return body(reinterpret_cast<const BFloat*>(data));
    case DType::kInt8: return body(reinterpret_cast<const int8_t*>(data));
    case DType::kUInt8: return body(reinterpret_cast<const uint8_t*>(data));
    default: TONDAR_CHECK(false, "no packing of {}", Name(dtype));
  }
}

// Calls body(To{}) with the element type that the tiles read.
template <class Body>
void WithTarget(const GemmFunctions& functions, Body&& body) {
  if (functions.input_bytes == 8) return body(double{});
  if (functions.input_bytes == 4) return body(float{});
  body(int16_t{});
}

// One tap of one panel. Blocks of k keep both the source lines and the target block in L1, whichever stride is 1.
template <class To, class From>
void PackTap(const From* data, int64_t depth, int64_t columns, int64_t width, int64_t step, int64_t k_stride,
             int64_t n_stride, To* out) {
  constexpr int64_t kBlock = 16;
  const int64_t padded = (depth + step - 1) / step * step;
  for (int64_t k0 = 0; k0 < padded; k0 += kBlock) {
    const int64_t k1 = std::min(k0 + kBlock, padded);
    if (columns < width || k1 > depth) std::memset(static_cast<void*>(out + k0 * width), 0, static_cast<size_t>((k1 - k0) * width) * sizeof(To));
    const int64_t valid = std::min(k1, depth);
    if (step == 1 && n_stride == 1) {
      for (int64_t k = k0; k < valid; ++k)
        for (int64_t n = 0; n < columns; ++n) out[k * width + n] = Convert<To>(data[k * k_stride + n]);
    } else {
      for (int64_t n = 0; n < columns; ++n)
        for (int64_t k = k0; k < valid; ++k)
          out[(k / step * width + n) * step + k % step] = Convert<To>(data[k * k_stride + n * n_stride]);
    }
  }
}

}  // namespace

Result<const GemmFunctions*> ChooseGemm(const GemmTable& table, DType a, DType b) {
  const auto is_small = [](DType t) { return t == DType::kInt8 || t == DType::kUInt8; };
  const auto is_single = [](DType t) {
    return t == DType::kFloat32 || t == DType::kFloat16 || t == DType::kBFloat16;
  };
  if (is_single(a) && is_single(b)) return table.f32;
  if (is_small(a) && is_small(b)) return table.i16;
  if ((a == DType::kFloat64 || is_single(a)) && (b == DType::kFloat64 || is_single(b))) return table.f64;
  return Unimplemented("products of {} and {} are not implemented; expected floats, or int8 and uint8", Name(a), Name(b));
}

DType SumType(const GemmTable& table, const GemmFunctions* functions) {
  if (functions == table.f64) return DType::kFloat64;
  return functions == table.i16 ? DType::kInt32 : DType::kFloat32;
}

void PackColumns(const GemmFunctions& functions, const PanelLayout& layout, const ColumnView& columns, int64_t first,
                 int64_t last, std::byte* packed) {
  const int64_t steps = StepsOf(functions, columns.depth);
  WithTarget(functions, [&]<class To>(To) {
    WithSource(columns.dtype, columns.data, [&]<class From>(const From* data) {
      To* out = reinterpret_cast<To*>(packed);
      for (int64_t panel = first; panel < last; ++panel) {
        const int64_t width = layout.VectorsOf(panel) * functions.lanes;
        const int64_t origin = layout.FirstColumn(panel);
        for (int64_t offset : columns.tap_offsets) {
          PackTap<To>(data + offset + origin * columns.n_stride, columns.depth, layout.ColumnsOf(panel, panel + 1), width,
                      functions.step, columns.k_stride, columns.n_stride, out);
          out += steps * width * functions.step;
        }
      }
    });
  });
}

void PackRow(const GemmFunctions& functions, const std::byte* data, DType dtype, int64_t stride, int64_t count,
             int64_t padded, std::byte* packed) {
  WithTarget(functions, [&]<class To>(To) {
    WithSource(dtype, data, [&]<class From>(const From* from) {
      To* out = reinterpret_cast<To*>(packed);
      if (stride == 1) {
        for (int64_t i = 0; i < count; ++i) out[i] = Convert<To>(from[i]);
      } else {
        for (int64_t i = 0; i < count; ++i) out[i] = Convert<To>(from[i * stride]);
      }
      for (int64_t i = count; i < padded; ++i) out[i] = To{};
    });
  });
}

}  // namespace tondar::cpu
