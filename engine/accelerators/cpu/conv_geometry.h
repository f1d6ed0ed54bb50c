// ConvGeometry: which input pixel each output pixel and kernel tap meet. Host code.
#ifndef TONDAR_ENGINE_ACCELERATORS_CPU_CONV_GEOMETRY_H_
#define TONDAR_ENGINE_ACCELERATORS_CPU_CONV_GEOMETRY_H_

#include <array>
#include <cstddef>
#include <cstdint>

#include "engine/base/status.h"
#include "engine/plan/step.h"
#include "engine/types/shape.h"

namespace tondar::cpu {

// Always three spatial dims; leading ones of extent 1 where the step has fewer. Value type.
struct ConvGeometry {
  using Spatial = std::array<int64_t, 3>;

  int64_t images = 0, groups = 1;
  int64_t in_channels = 0, out_channels = 0;  // of one group
  Spatial in{1, 1, 1}, out{1, 1, 1}, kernel{1, 1, 1};
  Spatial stride{1, 1, 1}, padding{0, 0, 0}, dilation{1, 1, 1};
  bool transposed = false;

  // Internal: the shapes do not fit each other.
  static Result<ConvGeometry> Create(const ConvStep& step, const Dims& x, const Dims& w, const Dims& out);

  int64_t taps() const { return kernel[0] * kernel[1] * kernel[2]; }
  int64_t out_pixels() const { return images * out[0] * out[1] * out[2]; }  // rows of the product
  int64_t in_pixels() const { return images * in[0] * in[1] * in[2]; }
  // True if output pixel i reads input pixel i and no other.
  bool IsPointwise() const;
  // True if each output channel has one input channel of its own.
  bool IsDepthwise() const { return in_channels == 1 && out_channels == 1 && groups > 1 && !transposed; }

  // The input position along dim d that output position `at` meets at tap `tap`; -1 outside.
  int64_t Meet(size_t d, int64_t at, int64_t tap) const {
    int64_t position;
    if (transposed) {
      const int64_t reach = at + padding[d] - tap * dilation[d];
      if (reach < 0 || reach % stride[d] != 0) return -1;
      position = reach / stride[d];
    } else {
      position = at * stride[d] - padding[d] + tap * dilation[d];
    }
    return position >= 0 && position < in[d] ? position : -1;
  }
};

// Strides of x or an output's dims in the order image, depth, height, width, channel; in elements.
struct PixelStrides {
  int64_t image = 0, channel = 0;
  ConvGeometry::Spatial spatial{0, 0, 0};
};
PixelStrides StridesOf(const Dims& strides);

// Walks output pixels in order, as rows of the product.
class OutputPixels {
 public:
  OutputPixels(const ConvGeometry& geometry, int64_t first);
  void Next();
  int64_t image() const { return image_; }
  int64_t at(size_t d) const { return at_[d]; }

 private:
  const ConvGeometry& geometry_;
  int64_t image_;
  ConvGeometry::Spatial at_;
};

// Fills addresses[tap * tap_stride + i] with the pixel of x that output pixel first + i meets at each tap, or `zeros`.
void AddressPixels(const ConvGeometry& geometry, const std::byte* x, const PixelStrides& strides, int64_t element_bytes,
                   const void* zeros, int64_t first, int64_t count, const void** addresses, int64_t tap_stride);

}  // namespace tondar::cpu

#endif  // TONDAR_ENGINE_ACCELERATORS_CPU_CONV_GEOMETRY_H_
