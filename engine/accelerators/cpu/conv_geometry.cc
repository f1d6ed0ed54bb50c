#include "engine/accelerators/cpu/conv_geometry.h"

namespace tondar::cpu {
namespace {

using Spatial = ConvGeometry::Spatial;

// Copies the spatial part of a shape or parameter list to the end of three dims.
template <class List>
void CopySpatial(const List& from, size_t first, Spatial& to) {
  const size_t rank = from.size() - first;
  for (size_t d = 0; d < rank; ++d) to[3 - rank + d] = from[first + d];
}

bool AllOnes(const Spatial& values) { return values[0] == 1 && values[1] == 1 && values[2] == 1; }
bool AllZeros(const Spatial& values) { return values[0] == 0 && values[1] == 0 && values[2] == 0; }

}  // namespace

Result<ConvGeometry> ConvGeometry::Create(const ConvStep& step, const Dims& x, const Dims& w, const Dims& out) {
  const size_t rank = x.size();
  if (rank < 3 || rank > 5 || w.size() != rank || out.size() != rank || step.stride.size() != rank - 2 ||
      step.padding.size() != rank - 2 || step.dilation.size() != rank - 2)
    return Internal("conv: ranks of x {}, w {}, output {} and {} strides do not fit", ToString(x), ToString(w),
                    ToString(out), step.stride.size());
  ConvGeometry g;
  g.images = x[0];
  g.groups = step.groups;
  g.transposed = step.transposed;
  g.in_channels = x[1] / step.groups;
  g.out_channels = out[1] / step.groups;
  CopySpatial(x, 2, g.in);
  CopySpatial(out, 2, g.out);
  CopySpatial(w, 2, g.kernel);
  CopySpatial(step.stride, 0, g.stride);
  CopySpatial(step.padding, 0, g.padding);
  CopySpatial(step.dilation, 0, g.dilation);
  const int64_t outer = g.transposed ? x[1] : out[1], inner = g.transposed ? g.out_channels : g.in_channels;
  if (x[0] != out[0] || w[0] != outer || w[1] != inner)
    return Internal("conv: x {}, w {} in {} groups do not give {}", ToString(x), ToString(w), g.groups, ToString(out));
  return g;
}

bool ConvGeometry::IsPointwise() const {
  return AllOnes(kernel) && AllOnes(stride) && AllZeros(padding) && in == out;
}

PixelStrides StridesOf(const Dims& strides) {
  PixelStrides result;
  result.image = strides[0];
  result.channel = strides[1];
  CopySpatial(strides, 2, result.spatial);
  return result;
}

OutputPixels::OutputPixels(const ConvGeometry& geometry, int64_t first) : geometry_(geometry) {
  for (size_t d = 3; d-- > 0;) {
    at_[d] = first % geometry.out[d];
    first /= geometry.out[d];
  }
  image_ = first;
}

void OutputPixels::Next() {
  for (size_t d = 3; d-- > 0;) {
    if (++at_[d] < geometry_.out[d]) return;
    at_[d] = 0;
  }
  ++image_;
}

void AddressPixels(const ConvGeometry& geometry, const std::byte* x, const PixelStrides& strides, int64_t element_bytes,
                   const void* zeros, int64_t first, int64_t count, const void** addresses, int64_t tap_stride) {
  const Spatial step{strides.spatial[0] * element_bytes, strides.spatial[1] * element_bytes,
                     strides.spatial[2] * element_bytes};
  OutputPixels pixel(geometry, first);
  for (int64_t i = 0; i < count; ++i, pixel.Next()) {
    const std::byte* image = x + pixel.image() * strides.image * element_bytes;
    const void** out = addresses + i;
    for (int64_t kd = 0; kd < geometry.kernel[0]; ++kd) {
      const int64_t d = geometry.Meet(0, pixel.at(0), kd);
      for (int64_t kh = 0; kh < geometry.kernel[1]; ++kh) {
        const int64_t h = geometry.Meet(1, pixel.at(1), kh);
        const std::byte* line = image + d * step[0] + h * step[1];
        for (int64_t kw = 0; kw < geometry.kernel[2]; ++kw, out += tap_stride) {
          const int64_t w = geometry.Meet(2, pixel.at(2), kw);
          *out = d < 0 || h < 0 || w < 0 ? zeros : line + w * step[2];
        }
      }
    }
  }
}

}  // namespace tondar::cpu
