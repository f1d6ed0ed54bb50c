#include "engine/accelerators/cpu/reduced_window.h"

namespace tondar::cpu {
namespace {

constexpr int64_t kMaxPositions = 4096;

bool LoadsAndNothingElse(const LoopProgram& program) {
  const LoopInstruction& result = program.body[static_cast<size_t>(program.results[0])];
  return result.op == LoopOp::kLoad && result.dtype != DType::kFloat16 && result.dtype != DType::kBFloat16;
}

}  // namespace

std::optional<ReducedWindow> ReducedWindow::Make(const LoopProgram& program, std::span<const BoundAccess> accesses,
                                                 const Nest& nest, size_t outer) {
  if (!LoadsAndNothingElse(program)) return std::nullopt;
  const BoundAccess& access = accesses[static_cast<size_t>(program.body[static_cast<size_t>(program.results[0])].source)];
  const size_t column = outer - 1;
  const bool contiguous = nest[column].extent == 1 || access.strides[column] == access.element_bytes;
  const int64_t positions = Count(nest, outer, nest.size());
  if (!access.dynamics.empty() || !contiguous || positions > kMaxPositions || access.guards.size() > kMaxRank) return std::nullopt;
  for (const AffinePosition& guard : access.guards) {
    if (guard.coefficients[column] != 0) return std::nullopt;
  }
  ReducedWindow window;
  window.access_ = access;
  window.outer_ = outer;
  PerDim index{};
  for (int64_t position = 0; position < positions; ++position) {
    window.offsets_.push_back(Dot(access.strides, index.data(), nest.size()));
    for (const AffinePosition& guard : access.guards) {
      window.guard_offsets_.push_back(Dot(guard.coefficients, index.data(), nest.size()));
    }
    Odometer::Next(nest, outer, nest.size(), index.data());
  }
  return window;
}

ReducedWindow::Place ReducedWindow::At(const int64_t* index) const {
  Place place;
  place.base = access_.base + Dot(access_.strides, index, outer_);
  for (size_t g = 0; g < access_.guards.size(); ++g) {
    place.guards[g] = access_.guards[g].offset + Dot(access_.guards[g].coefficients, index, outer_);
  }
  return place;
}

}  // namespace tondar::cpu
