#include "engine/accelerators/cpu/conv_geometry.h"

#include <algorithm>

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

void OutputPixels::Skip(int64_t count) {
  at_[2] += count;
  for (size_t d = 2; at_[d] == geometry_.out[d]; --d) {
    at_[d] = 0;
    if (d == 0) {
      ++image_;
      return;
    }
    ++at_[d - 1];
  }
}

namespace {

// Positions [begin, end) of a line of the output, of which [inside, outside) meet input positions inside the input when
// the kernel covers `reach` input positions from tap `tap` on.
struct LineRange {
  int64_t inside, outside;
};
LineRange RangeInside(const ConvGeometry& g, int64_t tap, int64_t reach, int64_t begin, int64_t end) {
  const int64_t shift = g.padding[2] - tap * g.dilation[2], stride = g.stride[2];
  // stride * w - shift >= 0 and stride * w - shift + reach <= in
  const int64_t first = shift <= 0 ? 0 : (shift + stride - 1) / stride;
  const int64_t room = g.in[2] - reach + shift;
  const int64_t last = room < 0 ? 0 : room / stride + 1;
  const int64_t inside = std::clamp(first, begin, end);
  return {inside, std::clamp(last, inside, end)};
}

// addresses[i] = first + i * step.
void FillSteps(const std::byte* first, int64_t step, int64_t count, const void** addresses) {
  for (int64_t i = 0; i < count; ++i) addresses[i] = first + i * step;
}

// Pixels of one output line, at one tap; `line` is the input line that they meet.
void AddressTap(const ConvGeometry& g, const std::byte* line, int64_t pixel_bytes, const void* zeros, int64_t tap,
                int64_t begin, int64_t end, const void** addresses) {
  if (g.transposed) {
    for (int64_t w = begin; w < end; ++w) {
      const int64_t at = g.Meet(2, w, tap);
      addresses[w - begin] = at < 0 ? zeros : line + at * pixel_bytes;
    }
    return;
  }
  const LineRange range = RangeInside(g, tap, 1, begin, end);
  std::fill(addresses, addresses + (range.inside - begin), zeros);
  const int64_t first = range.inside * g.stride[2] - g.padding[2] + tap * g.dilation[2];
  FillSteps(line + first * pixel_bytes, g.stride[2] * pixel_bytes, range.outside - range.inside,
            addresses + (range.inside - begin));
  std::fill(addresses + (range.outside - begin), addresses + (end - begin), zeros);
}

// Copies `length` positions of `width` floats that begin at `begin` of a line of `extent`; zeros where there are none.
void CopyLine(const float* line, int64_t extent, int64_t begin, int64_t dilation, int64_t length, int64_t step,
              int64_t width, float* out) {
  for (int64_t i = 0; i < length; ++i, out += width) {
    const int64_t at = begin + i * dilation;
    const bool outside = at < 0 || at >= extent;
    for (int64_t c = 0; c < width; ++c) out[c] = outside ? 0 : line[at * step + c];
  }
}

}  // namespace

void AddressPixels(const ConvGeometry& geometry, const PixelSource& source, int64_t first, int64_t count,
                   const void** addresses, int64_t tap_stride) {
  const Spatial& kernel = geometry.kernel;
  OutputPixels pixel(geometry, first);
  for (int64_t i = 0; i < count;) {
    const int64_t run = std::min(count - i, pixel.LeftInLine()), begin = pixel.at(2);
    const void** out = addresses + i;
    for (int64_t outer = 0; outer < kernel[0] * kernel[1]; ++outer) {
      const int64_t d = geometry.Meet(0, pixel.at(0), outer / kernel[1]);
      const int64_t h = geometry.Meet(1, pixel.at(1), outer % kernel[1]);
      const int64_t offset =
          pixel.image() * source.strides.image + d * source.strides.spatial[0] + h * source.strides.spatial[1];
      for (int64_t tap = 0; tap < kernel[2]; ++tap, out += tap_stride) {
        if (d < 0 || h < 0) {
          std::fill(out, out + run, source.zeros);
        } else {
          AddressTap(geometry, source.x + offset * source.element_bytes, source.strides.spatial[2] * source.element_bytes,
                     source.zeros, tap, begin, begin + run, out);
        }
      }
    }
    pixel.Skip(run);
    i += run;
  }
}

void AddressLines(const ConvGeometry& geometry, const LineOrder& order, const PixelSource& source, int64_t first,
                  int64_t count, float* copies, const void** addresses, int64_t tap_stride) {
  const Spatial& kernel = geometry.kernel;
  const PixelStrides& s = source.strides;
  const int64_t width = order.channels_last ? geometry.in_channels : 1, length = order.LineLength(geometry);
  const int64_t taps = order.LineTaps(geometry), planes = kernel[0] * kernel[1];
  const bool one_stretch = geometry.dilation[2] == 1 && s.spatial[2] == width;
  const int64_t step = geometry.stride[2] * s.spatial[2];
  OutputPixels pixel(geometry, first);
  for (int64_t i = 0; i < count;) {
    const int64_t run = std::min(count - i, pixel.LeftInLine()), begin = pixel.at(2), end = begin + run;
    LineRange range{end, end};
    if (one_stretch) range = RangeInside(geometry, 0, kernel[2], begin, end);
    for (int64_t tap = 0; tap < taps; ++tap) {
      const int64_t d = geometry.Meet(0, pixel.at(0), tap % planes / kernel[1]);
      const int64_t h = geometry.Meet(1, pixel.at(1), tap % kernel[1]);
      const void** out = addresses + tap * tap_stride + i;
      if (d < 0 || h < 0) {
        std::fill(out, out + run, source.zeros);
        continue;
      }
      const float* line = reinterpret_cast<const float*>(source.x) + pixel.image() * s.image +
                          tap / planes * s.channel + d * s.spatial[0] + h * s.spatial[1];
      const auto position = [&](int64_t w) { return w * geometry.stride[2] - geometry.padding[2]; };
      const auto copy = [&](int64_t w) {
        float* to = copies + ((i + w - begin) * taps + tap) * length;
        CopyLine(line, geometry.in[2], position(w), geometry.dilation[2], kernel[2], s.spatial[2], width, to);
        out[w - begin] = to;
      };
      for (int64_t w = begin; w < range.inside; ++w) copy(w);
      FillSteps(reinterpret_cast<const std::byte*>(line + position(range.inside) * s.spatial[2]), step * 4,
                range.outside - range.inside, out + (range.inside - begin));
      for (int64_t w = range.outside; w < end; ++w) copy(w);
    }
    pixel.Skip(run);
    i += run;
  }
}

}  // namespace tondar::cpu
