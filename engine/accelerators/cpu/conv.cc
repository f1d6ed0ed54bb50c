// ConvStep: implicit matrix products over channels-last pixels. Rows are output pixels, columns output channels, and a
// row's inputs are reached through one address per kernel tap, so that nothing is unfolded in memory. Three ways:
//   pixels     each tap's channels lie next to each other, in the input or in a channels-last copy of it
//   lines      few input channels: each kernel line is one tap, where it lies in the input
//   depthwise  one input channel per output channel: vectors run over channels
#include <cstring>

#include "engine/accelerators/cpu/conv_geometry.h"
#include "engine/accelerators/cpu/depthwise.h"
#include "engine/accelerators/cpu/library_kernels.h"
#include "engine/accelerators/cpu/operand_packing.h"
#include "engine/accelerators/cpu/strided_rows.h"
#include "engine/accelerators/cpu/tile_program.h"

namespace tondar::cpu {
namespace {

constexpr int64_t kChunkBytes = 512 * 1024;   // inputs of the rows that one pass over the weights works on: half of L2
constexpr int64_t kAddressBytes = 64 * 1024;  // addresses of those rows
constexpr int64_t kSumsBytes = 16 * 1024;     // sums that wait for the epilogue: a third of L1
constexpr int64_t kGroupBytes = 256 * 1024;   // weights that one row tile walks
constexpr int64_t kLineChannels = 4;          // up to this many input channels a product per tap is too short
constexpr int64_t kDepthwiseColumns = 512;

enum class ConvMethod { kPixels, kLines, kDepthwise };

// The weights of all groups as the method reads them; the same for every launch.
struct WeightLayout {
  ConvMethod method;
  PanelLayout panels;  // of one group's output channels
  int64_t taps, depth, steps;
  int64_t group_bytes;
};

struct BoundConv {
  const GemmFunctions* functions;
  DepthwiseFunction depthwise;
  ConvGeometry geometry;
  WeightLayout layout;
  LineOrder lines;
  TileProgram epilogue;
  const std::byte* x;
  DType x_dtype;
  PixelStrides x_strides;
  const std::byte* w;  // packed, or null: `weights` are packed per run
  TensorView weights;
  std::vector<int64_t> weight_offsets;
  bool copy_x;                  // into a channels-last copy in scratch
  PixelStrides copy_strides;    // of what the tiles read: x itself or the copy
  int64_t pixel_channels;       // of one group, padded to whole steps
  int64_t direct_row_bytes;
  int64_t chunk_rows, group_panels;
  size_t copy_at, weights_at;   // shared by all members: in member 0's scratch
  size_t zeros_bytes;           // of a padding pixel
  size_t zeros_at, addresses_at, sums_at, rows_at, epilogue_at;
  bool parallel;
};

// ---- weights

ConvMethod ChooseMethod(const GemmFunctions& functions, const ConvGeometry& g, DType x_dtype) {
  const bool plain_f32 = x_dtype == DType::kFloat32 && functions.input_bytes == 4;
  if (g.IsDepthwise() && functions.input_bytes == 4) return ConvMethod::kDepthwise;
  if (plain_f32 && !g.transposed && g.groups == 1 && g.in_channels <= kLineChannels && g.taps() > 1)
    return ConvMethod::kLines;
  return ConvMethod::kPixels;
}

WeightLayout LayOutWeights(const GemmFunctions& functions, const ConvGeometry& g, ConvMethod method,
                           const LineOrder& lines) {
  WeightLayout layout;
  layout.method = method;
  layout.panels = PanelLayout(functions, method == ConvMethod::kDepthwise ? g.groups : g.out_channels);
  layout.taps = method == ConvMethod::kLines ? lines.LineTaps(g) : g.taps();
  layout.depth = method == ConvMethod::kLines ? lines.LineLength(g) : g.in_channels;
  layout.steps = StepsOf(functions, layout.depth);
  layout.group_bytes = layout.panels.padded_columns() * layout.taps * layout.steps * functions.column_bytes;
  return layout;
}

int64_t WeightBytes(const WeightLayout& layout, const ConvGeometry& g) {
  return layout.method == ConvMethod::kDepthwise ? layout.group_bytes : layout.group_bytes * g.groups;
}

// Offsets of a kernel's taps, and with `channels` of every channel of every tap, in the order that the method reads.
std::vector<int64_t> TapOffsets(const ConvGeometry& g, const Dims& w_strides, bool with_channels, bool channels_last) {
  const PixelStrides s = StridesOf(w_strides);
  std::vector<int64_t> taps, offsets;
  for (int64_t d = 0; d < g.kernel[0]; ++d)
    for (int64_t h = 0; h < g.kernel[1]; ++h)
      for (int64_t w = 0; w < g.kernel[2]; ++w)
        taps.push_back(d * s.spatial[0] + h * s.spatial[1] + w * s.spatial[2]);
  if (!with_channels) return taps;
  if (channels_last) {
    for (int64_t tap : taps)
      for (int64_t c = 0; c < g.in_channels; ++c) offsets.push_back(tap + c * s.channel);
  } else {
    for (int64_t c = 0; c < g.in_channels; ++c)
      for (int64_t tap : taps) offsets.push_back(tap + c * s.channel);
  }
  return offsets;
}

// Packs one group's panels [first, last).
void PackGroup(const GemmFunctions& f, const WeightLayout& layout, const ConvGeometry& g, const TensorView& w,
               std::span<const int64_t> offsets, int64_t group, int64_t first, int64_t last, std::byte* packed) {
  const int64_t outer = w.strides[0], inner = w.strides[1];
  ColumnView view;
  view.dtype = w.dtype;
  view.tap_offsets = offsets;
  view.depth = layout.method == ConvMethod::kPixels ? layout.depth : 1;
  view.k_stride = g.transposed ? outer : inner;
  view.n_stride = g.transposed ? inner : outer;
  const int64_t base = group * outer * (g.transposed ? g.in_channels : g.out_channels);
  view.data = w.data + base * static_cast<int64_t>(SizeOf(w.dtype));
  PackColumns(f, layout.panels, view, first, last,
              packed + group * layout.group_bytes + layout.panels.OffsetBytes(f, first, layout.taps * layout.steps));
}

// Depthwise weights are [tap][channel], channels padded to whole vectors.
void PackDepthwise(const WeightLayout& layout, const ConvGeometry& g, const TensorView& w,
                   std::span<const int64_t> offsets, std::byte* packed) {
  float* out = reinterpret_cast<float*>(packed);
  std::memset(static_cast<void*>(out), 0, static_cast<size_t>(layout.group_bytes));
  for (size_t tap = 0; tap < offsets.size(); ++tap)
    PackRow(kGemmBaseline.f32[0], w.data + offsets[tap] * static_cast<int64_t>(SizeOf(w.dtype)), w.dtype, w.strides[0],
            g.groups, g.groups, reinterpret_cast<std::byte*>(out + static_cast<int64_t>(tap) * layout.panels.padded_columns()));
}

// Packs what member `member` of `members` is to pack.
void PackWeights(const GemmFunctions& f, const WeightLayout& layout, const ConvGeometry& g, const TensorView& w,
                 std::span<const int64_t> offsets, std::byte* packed, int member, int members) {
  if (layout.method == ConvMethod::kDepthwise) {
    if (member == 0) PackDepthwise(layout, g, w, offsets, packed);
    return;
  }
  const Range range = RangeOf(g.groups * layout.panels.panels(), member, members);
  for (int64_t i = range.begin; i < range.end; ++i) {
    const int64_t group = i / layout.panels.panels(), panel = i % layout.panels.panels();
    PackGroup(f, layout, g, w, offsets, group, panel, panel + 1, packed);
  }
}

// ---- inputs

// Copies input pixels [first, last) to the channels-last form, each group padded to whole steps.
void CopyPixels(const BoundConv& bound, int64_t first, int64_t last, std::byte* copy) {
  const ConvGeometry& g = bound.geometry;
  const GemmFunctions& f = *bound.functions;
  const int64_t element = static_cast<int64_t>(SizeOf(bound.x_dtype));
  // Depthwise: all channels of a pixel are one stretch.
  const int64_t stretches = bound.layout.method == ConvMethod::kDepthwise ? 1 : g.groups;
  const int64_t channels = bound.layout.method == ConvMethod::kDepthwise ? g.groups : g.in_channels;
  Dims extents{g.images, g.in[0], g.in[1], g.in[2]};
  const PixelStrides& s = bound.x_strides;
  StridedRows pixels(extents, Dims{s.image, s.spatial[0], s.spatial[1], s.spatial[2]}, Dims{0, 1, 2, 3});
  const int64_t pixel_bytes = stretches * bound.pixel_channels * f.input_bytes;
  if (element == 4 && f.input_bytes == 4 && s.channel != 1) {
    // Blocks of pixels: each channel's line is read along the pixels.
    constexpr int64_t kBlock = 16;
    const int64_t all = stretches * bound.pixel_channels;
    for (int64_t p = first; p < last; p += kBlock) {
      const int64_t count = std::min(kBlock, last - p);
      float* out = reinterpret_cast<float*>(copy + p * pixel_bytes);
      pixels.ForEach(p, count, [&](int64_t i, int64_t offset) {
        const float* from = reinterpret_cast<const float*>(bound.x) + offset;
        for (int64_t c = 0; c < all; ++c) out[i * all + c] = from[c * s.channel];
      });
    }
    return;
  }
  pixels.ForEach(first, last - first, [&](int64_t i, int64_t offset) {
    for (int64_t group = 0; group < stretches; ++group)
      PackRow(f, bound.x + (offset + group * channels * s.channel) * element, bound.x_dtype, s.channel, channels,
              bound.pixel_channels,
              copy + (first + i) * pixel_bytes + group * bound.pixel_channels * f.input_bytes);
  });
}

// ---- running

// One member's view of the product of one group, for GemmWalk.
class ConvProblem {
 public:
  ConvProblem(const BoundConv& bound, RunContext& context, int member)
      : bound_(bound), context_(context), scratch_(context.MemberScratch(member)) {
    std::memset(scratch_ + bound.zeros_at, 0, bound.zeros_bytes);
    x_ = bound.copy_x ? context.MemberScratch(0) + bound.copy_at : bound.x;
    w_ = bound.w != nullptr ? bound.w : context.MemberScratch(0) + bound.weights_at;
  }

  void SelectGroup(int64_t group) { group_ = group; }

  void AddressRows(Share rows, const void** addresses, int64_t tap_stride) {
    const int64_t element = bound_.functions->input_bytes;
    PixelSource source{x_, bound_.copy_strides, element, scratch_ + bound_.zeros_at};
    if (bound_.layout.method == ConvMethod::kLines) {
      float* copies = reinterpret_cast<float*>(scratch_ + bound_.rows_at);
      return AddressLines(bound_.geometry, bound_.lines, source, rows.begin, rows.size(), copies, addresses, tap_stride);
    }
    source.x += group_ * bound_.pixel_channels * bound_.copy_strides.channel * element;
    AddressPixels(bound_.geometry, source, rows.begin, rows.size(), addresses, tap_stride);
  }

  ColumnSource Columns(int64_t first, int64_t) {
    const int64_t steps = bound_.layout.taps * bound_.layout.steps;
    return {w_ + group_ * bound_.layout.group_bytes + bound_.layout.panels.OffsetBytes(*bound_.functions, first, steps),
            0, steps};
  }

  std::byte* Direct(int64_t row, int64_t, int64_t column, int64_t* row_bytes) {
    if (bound_.direct_row_bytes == 0) return nullptr;
    *row_bytes = bound_.direct_row_bytes;
    return bound_.epilogue.OutputAddress(row, group_ * bound_.geometry.out_channels + column);
  }

  void Finish(int64_t row, int64_t rows, int64_t column, int64_t columns, const std::byte* sums, int64_t row_bytes) {
    AccumulatorTile tile;
    tile.accumulators = const_cast<std::byte*>(sums);
    tile.accumulator_stride = row_bytes / bound_.functions->sum_bytes;
    tile.row = row;
    tile.column = group_ * bound_.geometry.out_channels + column;
    tile.rows = static_cast<int>(rows);
    tile.columns = static_cast<int>(columns);
    bound_.epilogue.Run(tile, scratch_ + bound_.epilogue_at, *context_.error);
  }

  // Depthwise: rows of all groups at once.
  void RunDepthwise(Share rows) {
    const void** addresses = this->addresses();
    for (int64_t row = rows.begin; row < rows.end; row += bound_.chunk_rows) {
      const Share chunk{row, std::min(row + bound_.chunk_rows, rows.end)};
      AddressRows(chunk, addresses, bound_.chunk_rows);
      for (int64_t channel = 0; channel < bound_.geometry.groups; channel += kDepthwiseColumns)
        RunDepthwiseChunk(chunk, addresses, channel);
    }
  }

  const void** addresses() { return reinterpret_cast<const void**>(scratch_ + bound_.addresses_at); }
  std::byte* sums() { return scratch_ + bound_.sums_at; }

 private:
  void RunDepthwiseChunk(Share chunk, const void** addresses, int64_t channel) {
    DepthwiseTile tile;
    tile.tap_stride = bound_.chunk_rows;
    tile.taps = bound_.layout.taps;
    tile.channel = channel;
    tile.weights = reinterpret_cast<const float*>(w_) + channel;
    tile.weight_stride = bound_.layout.panels.padded_columns();
    tile.channels = std::min(kDepthwiseColumns, bound_.geometry.groups - channel);
    tile.sums = reinterpret_cast<float*>(sums());
    tile.sums_stride = kDepthwiseColumns;
    for (int64_t i = 0; i < chunk.size(); i += kDepthwisePixels) {
      tile.pixels = addresses + i;
      tile.count = static_cast<int>(std::min<int64_t>(kDepthwisePixels, chunk.size() - i));
      bound_.depthwise(tile);
      Finish(chunk.begin + i, tile.count, channel, tile.channels, sums(), kDepthwiseColumns * 4);
    }
  }

  const BoundConv& bound_;
  RunContext& context_;
  std::byte* scratch_;
  const std::byte* x_;
  const std::byte* w_;
  int64_t group_ = 0;
};

void RunMember(const BoundConv& bound, RunContext& context, const ThreadGrid& grid, int member) {
  const int64_t at_panels = member % grid.panels, at_rows = member / grid.panels % grid.rows,
                at_groups = member / (grid.panels * grid.rows);
  if (at_groups >= grid.batches) return;
  ConvProblem problem(bound, context, member);
  const int64_t tile_rows = bound.functions->rows, rows = bound.geometry.out_pixels();
  const Share tiles = ShareOf((rows + tile_rows - 1) / tile_rows, at_rows, grid.rows);
  const Share my_rows =
      grid.rows == 1 ? Share{0, rows} : Share{tiles.begin * tile_rows, std::min(tiles.end * tile_rows, rows)};
  if (bound.layout.method == ConvMethod::kDepthwise) return problem.RunDepthwise(my_rows);
  GemmShare share;
  share.functions = bound.functions;
  share.layout = &bound.layout.panels;
  share.taps = bound.layout.taps;
  share.depth = bound.layout.steps;
  share.rows = my_rows;
  share.panels = ShareOf(bound.layout.panels.panels(), at_panels, grid.panels);
  share.chunk_rows = bound.chunk_rows;
  share.group_panels = bound.group_panels;
  share.addresses = problem.addresses();
  share.sums = problem.sums();
  const Share groups = ShareOf(bound.geometry.groups, at_groups, grid.batches);
  for (int64_t group = groups.begin; group < groups.end; ++group) {
    problem.SelectGroup(group);
    GemmWalk<ConvProblem>(problem, share).Run();
  }
}

ThreadGrid GridOf(const BoundConv& bound, int members) {
  const int64_t tile_rows = bound.functions->rows;
  const int64_t row_tiles = (bound.geometry.out_pixels() + tile_rows - 1) / tile_rows;
  if (bound.layout.method == ConvMethod::kDepthwise) return {1, members, 1};
  const int64_t panels = std::max<int64_t>(bound.layout.panels.panels(), 1);
  const ConvGeometry& g = bound.geometry;
  const int64_t row_bytes = g.in_channels * g.stride[0] * g.stride[1] * g.stride[2] * tile_rows;
  const int64_t panel_bytes = bound.layout.taps * bound.layout.steps * bound.layout.panels.padded_columns() / panels;
  return ChooseGrid(members, g.groups, row_tiles, panels, row_bytes, panel_bytes);
}

void Prepare(const BoundConv& bound, RunContext& context) {
  if (!bound.copy_x && bound.w != nullptr) return;
  SplitOverTeam(context, bound.parallel, [&](int member, int members) {
    if (bound.copy_x) {
      const Range pixels = RangeOf(bound.geometry.in_pixels(), member, members);
      CopyPixels(bound, pixels.begin, pixels.end, context.MemberScratch(0) + bound.copy_at);
    }
    if (bound.w == nullptr)
      PackWeights(*bound.functions, bound.layout, bound.geometry, bound.weights, bound.weight_offsets,
                  context.MemberScratch(0) + bound.weights_at, member, members);
  });
}

void RunConv(const void* arguments, RunContext& context) {
  const BoundConv& bound = *static_cast<const BoundConv*>(arguments);
  Prepare(bound, context);
  const int members = bound.parallel ? context.team->members() : 1;
  const ThreadGrid grid = GridOf(bound, members);
  SplitOverTeam(context, members > 1, [&](int member, int) { RunMember(bound, context, grid, member); });
}

// ---- binding

class ConvKernel final : public CpuKernel {
 public:
  ConvKernel(const Step& step, const CpuKernels& kernels, const GemmFunctions* functions)
      : step_(std::get<ConvStep>(step.body)), kernels_(kernels), functions_(functions) {}

  // Keeps constant weights; the form they are packed in depends on the input's layout only where channels are few.
  void Pack(const TensorView& w, DType x_dtype, std::optional<bool> lines_channels_last);

  size_t packed_bytes() const override { return packed_.size_bytes(); }
  bool ReplacesInput(size_t input) const override { return input == 1 && is_packed_; }
  Result<BoundCall> Bind(const KernelArguments& arguments) const override;

 private:
  void ChooseInput(BoundConv& bound, const DeviceTensor& x) const;
  void ChooseBlocking(BoundConv& bound) const;
  size_t LayOutScratch(BoundConv& bound) const;

  ConvStep step_;
  const CpuKernels& kernels_;
  const GemmFunctions* functions_;
  bool is_packed_ = false, lines_channels_last_ = false;
  Dims packed_shape_;
  PackedBytes packed_;
};

// Geometry of which only what weights determine is known.
ConvGeometry WeightGeometry(const ConvStep& step, const Dims& w) {
  ConvGeometry g;
  g.groups = step.groups;
  g.transposed = step.transposed;
  g.in_channels = step.transposed ? w[0] / step.groups : w[1];
  g.out_channels = step.transposed ? w[1] : w[0] / step.groups;
  for (size_t d = 2; d < w.size(); ++d) g.kernel[3 - w.size() + d] = w[d];
  return g;
}

void ConvKernel::Pack(const TensorView& w, DType x_dtype, std::optional<bool> lines_channels_last) {
  const ConvGeometry g = WeightGeometry(step_, w.shape);
  const ConvMethod method = ChooseMethod(*functions_, g, x_dtype);
  if (method == ConvMethod::kLines && !lines_channels_last) return;
  lines_channels_last_ = lines_channels_last.value_or(false);
  const WeightLayout layout = LayOutWeights(*functions_, g, method, {lines_channels_last_});
  packed_ = PackedBytes(static_cast<size_t>(WeightBytes(layout, g)));
  packed_shape_ = w.shape;
  is_packed_ = true;
  const auto offsets = TapOffsets(g, w.strides, method == ConvMethod::kLines, lines_channels_last_);
  PackWeights(*functions_, layout, g, w, offsets, packed_.data(), 0, 1);
}

// True if a kernel line of x, with all channels, is one stretch of memory.
bool LinesHoldChannels(const PixelStrides& s, int64_t channels) {
  return (s.channel == 1 || channels == 1) && s.spatial[2] == channels;
}

void ConvKernel::ChooseInput(BoundConv& bound, const DeviceTensor& x) const {
  const ConvGeometry& g = bound.geometry;
  bound.x = x.data;
  bound.x_dtype = x.dtype;
  bound.x_strides = StridesOf(x.strides);
  const bool depthwise = bound.layout.method == ConvMethod::kDepthwise;
  const int64_t channels = depthwise ? g.groups : g.in_channels;
  bound.pixel_channels = bound.layout.steps * functions_->step;
  if (depthwise) bound.pixel_channels = channels;
  bound.copy_strides = bound.x_strides;
  if (bound.layout.method == ConvMethod::kLines) return;
  if (RowInPlace(*functions_, x.dtype, bound.x_strides.channel, channels)) return;
  bound.copy_x = true;
  const int64_t pixel = bound.pixel_channels * (depthwise ? 1 : g.groups);
  bound.copy_strides.channel = 1;
  bound.copy_strides.spatial = {g.in[1] * g.in[2] * pixel, g.in[2] * pixel, pixel};
  bound.copy_strides.image = g.in[0] * bound.copy_strides.spatial[0];
}

void ConvKernel::ChooseBlocking(BoundConv& bound) const {
  const ConvGeometry& g = bound.geometry;
  const int64_t tile_rows = functions_->rows, width = functions_->vectors * functions_->lanes;
  const int64_t row_bytes =
      bound.pixel_channels * g.stride[0] * g.stride[1] * g.stride[2] * functions_->input_bytes;
  const int64_t by_bytes = kChunkBytes / std::max<int64_t>(row_bytes, 1);
  const int64_t by_addresses = kAddressBytes / (static_cast<int64_t>(sizeof(void*)) * std::max<int64_t>(bound.layout.taps, 1));
  const int64_t rows = std::max(std::min(by_bytes, by_addresses) / tile_rows * tile_rows, tile_rows);
  bound.chunk_rows = std::clamp<int64_t>(g.out_pixels(), 1, rows);
  const int64_t sums_row = width * functions_->sum_bytes;
  int64_t group = kSumsBytes / (sums_row * std::min(bound.chunk_rows, tile_rows));
  if (g.out_pixels() > tile_rows)
    group = std::min(group, kGroupBytes / std::max<int64_t>(width * bound.layout.taps * bound.layout.steps * functions_->column_bytes, 1));
  bound.group_panels = std::clamp<int64_t>(group, 1, std::max<int64_t>(bound.layout.panels.panels(), 1));
}

size_t ConvKernel::LayOutScratch(BoundConv& bound) const {
  ScratchLayout scratch;
  const ConvGeometry& g = bound.geometry;
  const bool depthwise = bound.layout.method == ConvMethod::kDepthwise;
  const int64_t pixel = bound.pixel_channels * (depthwise ? 1 : g.groups) * functions_->input_bytes;
  bound.copy_at = scratch.Add(bound.copy_x ? g.in_pixels() * pixel : 0);
  bound.weights_at = scratch.Add(bound.w == nullptr ? WeightBytes(bound.layout, g) + 64 : 0);
  bound.zeros_bytes = static_cast<size_t>((depthwise ? g.groups : bound.layout.steps) * functions_->column_bytes);
  bound.zeros_at = scratch.Add(static_cast<int64_t>(bound.zeros_bytes));
  bound.addresses_at = scratch.Add(bound.chunk_rows * bound.layout.taps * static_cast<int64_t>(sizeof(void*)));
  bound.sums_at = scratch.Add(depthwise ? kDepthwisePixels * kDepthwiseColumns * 4
                                        : functions_->rows * SumsRowBytes(*functions_, bound.group_panels) + 64);
  const bool lines = bound.layout.method == ConvMethod::kLines;
  bound.rows_at =
      scratch.Add(lines ? bound.chunk_rows * bound.layout.taps * bound.layout.depth * functions_->input_bytes : 0);
  bound.epilogue_at = scratch.Add(static_cast<int64_t>(bound.epilogue.scratch_bytes()));
  return scratch.bytes();
}

// Output pixels as rows, channels as columns.
TileDims PixelsByChannels(size_t rank) {
  TileDims dims;
  dims.rows.push_back(0);
  for (size_t d = 2; d < rank; ++d) dims.rows.push_back(static_cast<int64_t>(d));
  dims.columns.push_back(1);
  return dims;
}

Result<BoundCall> ConvKernel::Bind(const KernelArguments& arguments) const {
  const DeviceTensor& x = arguments.inputs[0];
  const DeviceTensor& w = arguments.inputs[1];
  const DeviceTensor& out = arguments.outputs[0];
  auto bound = std::make_unique<BoundConv>();
  TONDAR_ASSIGN_OR_RETURN(bound->geometry,
                          ConvGeometry::Create(step_, x.shape, is_packed_ ? packed_shape_ : w.shape, out.shape));
  const ConvGeometry& g = bound->geometry;
  bound->functions = functions_;
  bound->depthwise = kernels_.depthwise;
  bound->w = is_packed_ ? packed_.data() : nullptr;
  bound->weights = w;
  bound->copy_x = false;
  bound->lines.channels_last =
      is_packed_ ? lines_channels_last_ : LinesHoldChannels(StridesOf(x.strides), g.in_channels);
  bound->layout = LayOutWeights(*functions_, g, ChooseMethod(*functions_, g, x.dtype), bound->lines);
  if (!is_packed_)
    bound->weight_offsets =
        TapOffsets(g, w.strides, bound->layout.method == ConvMethod::kLines, bound->lines.channels_last);
  ChooseInput(*bound, x);
  ChooseBlocking(*bound);

  const DType sum_type = functions_->input_bytes == 8   ? DType::kFloat64
                         : functions_->input_bytes == 4 ? DType::kFloat32
                                                        : DType::kInt32;
  const TileDims dims = PixelsByChannels(out.shape.size());
  const int64_t columns = bound->layout.method == ConvMethod::kDepthwise
                              ? kDepthwiseColumns
                              : bound->group_panels * functions_->vectors * functions_->lanes;
  TONDAR_ASSIGN_OR_RETURN(bound->epilogue, TileProgram::Bind(step_.epilogue, sum_type, arguments, dims,
                                                             static_cast<int>(columns), kernels_));
  const StridedRows out_rows(out.shape, out.strides, dims.rows);
  const bool direct = bound->epilogue.IsPlainStore() && out_rows.even() &&
                      bound->layout.method != ConvMethod::kDepthwise && (out_rows.stride() > 0 || g.out_pixels() <= 1);
  bound->direct_row_bytes = direct ? std::max<int64_t>(out_rows.stride(), 1) * functions_->sum_bytes : 0;

  // 32 products a nanosecond is what one core does at best.
  const double per_element = static_cast<double>(g.taps() * g.in_channels) / 32 + bound->epilogue.nanoseconds_per_element();
  bound->parallel = static_cast<double>(out.elements()) * per_element > kParallelNanoseconds;
  const size_t scratch_bytes = LayOutScratch(*bound);
  if (out.elements() == 0) return BoundCall();
  return BoundCall(&RunConv, std::move(bound), scratch_bytes);
}

}  // namespace

Status SupportsConv(const Step& step) {
  const ConvStep& conv = std::get<ConvStep>(step.body);
  const GemmTable& table = kGemmBaseline;
  const size_t rank = step.inputs[0].shape.size();
  if (rank < 3 || rank > 5) return Unimplemented("convolutions of rank {} are not implemented; expected 3 to 5", rank);
  TONDAR_ASSIGN_OR_RETURN(const GemmFunctions* functions, ChooseGemm(table, step.inputs[0].dtype, step.inputs[1].dtype));
  return TileProgram::Supports(conv.epilogue, SumType(table, functions), step.outputs[0].dtype);
}

Result<std::unique_ptr<CpuKernel>> MakeConvKernel(const Step& step, std::span<const Constant* const> constants,
                                                  const CpuKernels& kernels) {
  const Operand& x = step.inputs[0];
  TONDAR_ASSIGN_OR_RETURN(const GemmFunctions* functions, ChooseGemm(*kernels.gemm, x.dtype, step.inputs[1].dtype));
  auto kernel = std::make_unique<ConvKernel>(step, kernels, functions);
  const auto w = ConstantInput(constants, 1);
  if (!w) return std::unique_ptr<CpuKernel>(std::move(kernel));
  // Few channels: the order of a line follows the input's layout, which is known if its inner strides are numbers.
  std::optional<bool> channels_last;
  const size_t rank = x.strides.size();
  const bool channel_known = x.strides[1].IsConstant(), width_known = x.strides[rank - 1].IsConstant();
  if (channel_known && width_known) {
    PixelStrides s;
    s.channel = x.strides[1].constant();
    s.spatial[2] = x.strides[rank - 1].constant();
    channels_last = LinesHoldChannels(s, w->shape[1]);
  } else if (width_known && x.strides[rank - 1].Is(1)) {
    channels_last = w->shape[1] == 1;
  }
  kernel->Pack(*w, x.dtype, channels_last);
  return std::unique_ptr<CpuKernel>(std::move(kernel));
}

}  // namespace tondar::cpu
