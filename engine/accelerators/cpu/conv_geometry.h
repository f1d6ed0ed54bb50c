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
  // Moves on by `count` pixels, which lie in one line of the output.
  void Skip(int64_t count);
  // Pixels from here to the end of the line.
  int64_t LeftInLine() const { return geometry_.out[2] - at_[2]; }
  int64_t image() const { return image_; }
  int64_t at(size_t d) const { return at_[d]; }

 private:
  const ConvGeometry& geometry_;
  int64_t image_;
  ConvGeometry::Spatial at_;
};

// Where the inputs lie that a product's rows are to reach.
struct PixelSource {
  const std::byte* x;
  PixelStrides strides;
  int64_t element_bytes;
  const void* zeros;  // stands for what lies outside the input
};

// Fills addresses[tap * tap_stride + i] with the pixel of x that output pixel first + i meets at each tap.
void AddressPixels(const ConvGeometry& geometry, const PixelSource& source, int64_t first, int64_t count,
                   const void** addresses, int64_t tap_stride);

// The same with whole kernel lines as taps, for f32 inputs of few channels: [channel][depth][height] taps of
// kernel-width elements or, where the channels lie innermost, [depth][height] taps of kernel-width pixels. Lines that
// leave the input, or are not one stretch of memory, are copied to `copies`: LineTaps() * LineLength() floats per pixel.
struct LineOrder {
  bool channels_last = false;
  int64_t LineTaps(const ConvGeometry& g) const {
    return g.kernel[0] * g.kernel[1] * (channels_last ? 1 : g.in_channels);
  }
  int64_t LineLength(const ConvGeometry& g) const { return g.kernel[2] * (channels_last ? g.in_channels : 1); }
};
void AddressLines(const ConvGeometry& geometry, const LineOrder& order, const PixelSource& source, int64_t first,
                  int64_t count, float* copies, const void** addresses, int64_t tap_stride);

}  // namespace tondar::cpu

#endif  // TONDAR_ENGINE_ACCELERATORS_CPU_CONV_GEOMETRY_H_
