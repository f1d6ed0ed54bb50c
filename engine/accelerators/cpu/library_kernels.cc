#include "engine/accelerators/cpu/library_kernels.h"

#include <new>

#include "engine/accelerators/cpu/attention_table.h"
#include "engine/accelerators/cpu/depthwise.h"
#include "engine/accelerators/cpu/gemm.h"
#include "engine/accelerators/cpu/norm_table.h"

namespace tondar::cpu {
namespace {

// Packed columns begin on a page, so that a panel never shares one with another allocation.
constexpr std::align_val_t kPackedAlignment{4096};
// Tiles prefetch past the end of what they read; those addresses need not exist, but full vectors are loaded up to here.
constexpr size_t kPackedSlackBytes = 64;

struct LibraryTables {
  const GemmTable* gemm;
  DepthwiseFunction depthwise;
  const AttentionTable* attention;
  const NormTable* norm;
};

LibraryTables TablesOf(const CpuKernels& kernels) {
  const LibraryTables baseline{&kGemmBaseline, kDepthwiseBaseline, &kAttentionBaseline, &kNormBaseline};
#if defined(__x86_64__)
  const LibraryTables avx2{&kGemmAvx2, kDepthwiseAvx2, &kAttentionAvx2, &kNormAvx2};
  const bool tall = kernels.micro_architecture == MicroArchitecture::kZen5;
  const LibraryTables avx512{tall ? &kGemmAvx512Tall : &kGemmAvx512, kDepthwiseAvx512, &kAttentionAvx512, &kNormAvx512};
  if (kernels.level >= IsaLevel::kAvx512) return avx512;
  if (kernels.level >= IsaLevel::kAvx2) return avx2;
#endif
  return baseline;
}

}  // namespace

void AddLibraryTables(CpuKernels& kernels) {
  const LibraryTables tables = TablesOf(kernels);
  kernels.gemm = tables.gemm;
  kernels.depthwise = tables.depthwise;
  kernels.attention = tables.attention;
  kernels.norm = tables.norm;
}

PackedBytes::PackedBytes(size_t size_bytes)
    : memory_(static_cast<std::byte*>(::operator new(size_bytes + kPackedSlackBytes, kPackedAlignment))),
      size_bytes_(size_bytes) {}

void PackedBytes::Free::operator()(std::byte* p) const { ::operator delete(p, kPackedAlignment); }

std::optional<TensorView> ConstantInput(std::span<const Constant* const> constants, size_t input) {
  if (input >= constants.size() || constants[input] == nullptr) return std::nullopt;
  return constants[input]->view;
}

}  // namespace tondar::cpu
