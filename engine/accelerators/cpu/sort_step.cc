// Sort steps: each row's keys become unsigned integers of the same order, which are sorted together with their positions.
// No two such pairs are equal, so that every algorithm gives the one stable order.
#include <algorithm>
#include <bit>
#include <limits>

#include "engine/accelerators/cpu/index_kernels.h"
#include "engine/accelerators/cpu/lane_types.h"
#include "engine/accelerators/cpu/loop_support.h"
#include "engine/accelerators/cpu/strided_rows.h"

namespace tondar::cpu {
namespace {

// The key's place in ascending order. Floats: the sign bit flips, negative ones flip whole; NaN is the largest, -0 is 0.
template <typename T>
auto OrderOf(T value) {
  if constexpr (std::is_floating_point_v<T>) {
    using Bits = std::conditional_t<sizeof(T) == 4, uint32_t, uint64_t>;
    if (value != value) return std::numeric_limits<Bits>::max();
    const Bits bits = std::bit_cast<Bits>(value == 0 ? T(0) : value), sign = Bits{1} << (8 * sizeof(T) - 1);
    return (bits & sign) != 0 ? ~bits : (bits | sign);
  } else if constexpr (sizeof(T) == 8) {
    return std::is_signed_v<T> ? static_cast<uint64_t>(value) ^ (uint64_t{1} << 63) : static_cast<uint64_t>(value);
  } else {
    return static_cast<uint32_t>(static_cast<int64_t>(value) + (std::is_signed_v<T> ? int64_t{1} << 31 : 0));
  }
}

struct WidePair {
  uint64_t key;
  int64_t position;
  friend bool operator<(const WidePair& a, const WidePair& b) {
    return a.key != b.key ? a.key < b.key : a.position < b.position;
  }
};

inline uint64_t MakePair(uint32_t key, int64_t position) { return uint64_t{key} << 32 | static_cast<uint64_t>(position); }
inline WidePair MakePair(uint64_t key, int64_t position) { return {key, position}; }
inline int64_t PositionOf(uint64_t pair) { return static_cast<int64_t>(pair & 0xffffffffu); }
inline int64_t PositionOf(const WidePair& pair) { return pair.position; }

struct SortCall {
  const std::byte* keys = nullptr;
  int64_t* out = nullptr;
  StridedRows key_rows, out_rows;  // offsets in elements
  int64_t key_stride = 0, out_stride = 0;
  int64_t rows = 1, n = 0, k = 0;
  bool descending = false, parallel = false;
  void (*sort_row)(const SortCall& call, const std::byte* keys, int64_t* out, std::byte* scratch) = nullptr;
  int64_t element_bytes = 0;
};

template <typename Stored, auto kLoad>
void SortRow(const SortCall& call, const std::byte* keys, int64_t* out, std::byte* scratch) {
  const auto order = [&](int64_t i) {
    const auto key = OrderOf(kLoad(*reinterpret_cast<const Stored*>(keys + i * call.key_stride * call.element_bytes)));
    return call.descending ? static_cast<decltype(key)>(~key) : key;
  };
  using Pair = decltype(MakePair(order(0), 0));
  Pair* pairs = reinterpret_cast<Pair*>(scratch);
  for (int64_t i = 0; i < call.n; ++i) pairs[i] = MakePair(order(i), i);
  if (call.k < call.n) std::nth_element(pairs, pairs + call.k, pairs + call.n);
  std::sort(pairs, pairs + call.k);
  for (int64_t i = 0; i < call.k; ++i) out[i * call.out_stride] = PositionOf(pairs[i]);
}

template <typename T>
T Same(T value) {
  return value;
}

decltype(SortCall::sort_row) SortRowFor(DType dtype) {
  if (dtype == DType::kFloat16) return SortRow<uint16_t, Float16ToFloat>;
  if (dtype == DType::kBFloat16) return SortRow<uint16_t, BFloat16ToFloat>;
  const std::optional<Lane> lane = LaneOf(dtype);
  if (!lane || LaneBytes(*lane) != SizeOf(dtype)) return nullptr;
  return WithLaneType(*lane, [](auto type) -> decltype(SortCall::sort_row) {
    return SortRow<decltype(type), Same<decltype(type)>>;
  });
}

bool IsWide(DType dtype) { return SizeOf(dtype) == 8; }

void RunSort(const void* arguments, RunContext& context) {
  const SortCall& call = *static_cast<const SortCall*>(arguments);
  SplitOverTeam(context, call.parallel, [&](int member, int members) {
    const Range range = RangeOf(call.rows, member, members);
    for (int64_t row = range.begin; row < range.end; ++row) {
      call.sort_row(call, call.keys + call.key_rows.Offset(row) * call.element_bytes, call.out + call.out_rows.Offset(row),
                    context.MemberScratch(member));
    }
  });
}

class SortKernel final : public CpuKernel {
 public:
  explicit SortKernel(SortStep step) : step_(step) {}

  Result<BoundCall> Bind(const KernelArguments& arguments) const override {
    const DeviceTensor &keys = arguments.inputs[0], &out = arguments.outputs[0];
    TONDAR_RETURN_IF_ERROR(CheckOperands(arguments, 1, keys.shape.size()));
    if (keys.shape.empty()) return Internal("a sort needs a dim");
    const size_t last = keys.shape.size() - 1;
    auto call = std::make_unique<SortCall>();
    call->n = keys.shape[last];
    call->k = out.shape[last];
    if (call->k > call->n) return InvalidArgument("the first {} of {} elements", call->k, call->n);
    if (!IsWide(keys.dtype) && call->n > int64_t{1} << 32) return Unimplemented("a row of {} elements", call->n);
    if (ElementCount(out.shape) == 0) return BoundCall();
    call->keys = keys.data;
    call->out = reinterpret_cast<int64_t*>(out.data);
    call->element_bytes = static_cast<int64_t>(SizeOf(keys.dtype));
    call->key_stride = keys.strides[last];
    call->out_stride = out.strides[last];
    call->key_rows = OuterRows(keys, last);
    call->out_rows = OuterRows(out, last);
    call->rows = call->out_rows.count();
    call->descending = step_.descending;
    call->sort_row = SortRowFor(keys.dtype);
    constexpr double kNanosecondsPerElement = 10;
    call->parallel = call->rows > 1 && kNanosecondsPerElement * static_cast<double>(call->rows * call->n) > kParallelNanoseconds;
    const size_t pair_bytes = IsWide(keys.dtype) ? sizeof(WidePair) : sizeof(uint64_t);
    const size_t scratch = static_cast<size_t>(call->n) * pair_bytes;
    return BoundCall(RunSort, std::move(call), scratch);
  }

 private:
  static StridedRows OuterRows(const DeviceTensor& tensor, size_t last) {
    StridedRows rows;
    for (size_t d = 0; d < last; ++d) rows.Append(tensor.shape[d], tensor.strides[d]);
    return rows;
  }

  SortStep step_;
};

}  // namespace

Status SupportsSort(const Step& step) {
  const DType dtype = step.inputs[0].dtype;
  if (SortRowFor(dtype) != nullptr) return OkStatus();
  return Unimplemented("step '{}': a sort of {}", step.name, Name(dtype));
}

Result<std::unique_ptr<CpuKernel>> MakeSortKernel(const Step& step, std::span<const Constant* const>, const CpuKernels&) {
  return std::unique_ptr<CpuKernel>(std::make_unique<SortKernel>(std::get<SortStep>(step.body)));
}

}  // namespace tondar::cpu
