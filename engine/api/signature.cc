#include "engine/api/signature.h"

#include <algorithm>

namespace tondar {
namespace {

int FindByName(const std::vector<TensorSpec>& specs, std::string_view name) {
  for (size_t i = 0; i < specs.size(); ++i) {
    if (specs[i].name == name) return static_cast<int>(i);
  }
  return -1;
}

// Says of one extent what was expected, in the user's terms.
Status ExtentMismatch(const Signature& signature, const TensorSpec& spec, const Dims& found, size_t extent,
                      std::string_view expected) {
  return InvalidArgument("input '{}': shape {} does not match {}: extent {} is {}, expected {}", spec.name,
                         ToString(found), ToString(spec.shape, signature.symbols), extent, found[extent], expected);
}

// Symbols solved so far.
struct Solution {
  std::vector<int64_t> values;
  std::vector<bool> known;

  bool Knows(const Dim& dim) const {
    std::vector<SymbolId> symbols;
    dim.CollectSymbols(symbols);
    return std::all_of(symbols.begin(), symbols.end(), [&](SymbolId id) { return known[static_cast<size_t>(id)]; });
  }
  void Set(SymbolId id, int64_t value) {
    values[static_cast<size_t>(id)] = value;
    known[static_cast<size_t>(id)] = true;
  }
};

// Solves extent == coefficient * symbol + constant for the one unknown symbol; true if it could.
bool SolveLinear(const Dim& extent, int64_t found, Solution& solution) {
  std::vector<SymbolId> symbols, unknown;
  extent.CollectSymbols(symbols);
  for (SymbolId id : symbols) {
    if (!solution.known[static_cast<size_t>(id)]) unknown.push_back(id);
  }
  if (unknown.size() != 1) return false;
  const SymbolId id = unknown[0];
  auto value_at = [&](int64_t symbol_value) {
    std::vector<int64_t> values = solution.values;
    values[static_cast<size_t>(id)] = symbol_value;
    return extent.Evaluate(values);
  };
  const int64_t at_zero = value_at(0);
  int64_t slope = 0, distance = 0;  // the extents come from callers, who may send any number
  if (__builtin_sub_overflow(value_at(1), at_zero, &slope)) return false;
  if (__builtin_sub_overflow(found, at_zero, &distance)) return false;
  if (slope == 0 || (slope == -1 && distance == INT64_MIN) || distance % slope != 0) return false;
  const int64_t candidate = distance / slope;
  if (value_at(candidate) != found) return false;
  solution.Set(id, candidate);
  return true;
}

Status CheckRanks(const Signature& signature, std::span<const Dims> input_shapes) {
  for (size_t i = 0; i < signature.inputs.size(); ++i) {
    const TensorSpec& spec = signature.inputs[i];
    if (spec.shape.size() != input_shapes[i].size()) {
      return InvalidArgument("input '{}': shape {} has rank {}, expected {} ({})", spec.name, ToString(input_shapes[i]),
                             input_shapes[i].size(), spec.shape.size(), ToString(spec.shape, signature.symbols));
    }
  }
  return OkStatus();
}

Status CheckExtents(const Signature& signature, std::span<const Dims> input_shapes, const Solution& solution) {
  for (size_t i = 0; i < signature.inputs.size(); ++i) {
    const TensorSpec& spec = signature.inputs[i];
    for (size_t d = 0; d < spec.shape.size(); ++d) {
      const int64_t expected = spec.shape[d].Evaluate(solution.values);
      if (expected == input_shapes[i][d]) continue;
      const std::string symbolic = spec.shape[d].ToString(signature.symbols);
      return ExtentMismatch(signature, spec, input_shapes[i], d,
                            spec.shape[d].IsConstant() ? symbolic : fmt::format("{} ({})", expected, symbolic));
    }
  }
  return OkStatus();
}

Status CheckRanges(const Signature& signature, std::span<const Dims> input_shapes, const Solution& solution) {
  for (size_t i = 0; i < signature.inputs.size(); ++i) {
    const TensorSpec& spec = signature.inputs[i];
    for (size_t d = 0; d < spec.shape.size(); ++d) {
      const std::optional<SymbolId> id = spec.shape[d].AsSymbol();
      if (!id) continue;
      const SymbolInfo& symbol = signature.symbols[static_cast<size_t>(*id)];
      const int64_t value = solution.values[static_cast<size_t>(*id)];
      if (value >= symbol.min && value <= symbol.max) continue;
      return ExtentMismatch(signature, spec, input_shapes[i], d,
                            symbol.max == INT64_MAX ? fmt::format("at least {} ({})", symbol.min, symbol.name)
                                                    : fmt::format("{} to {} ({})", symbol.min, symbol.max, symbol.name));
    }
  }
  for (size_t id = 0; id < signature.symbols.size(); ++id) {
    const SymbolInfo& symbol = signature.symbols[id];
    if (!solution.known[id] || (solution.values[id] >= symbol.min && solution.values[id] <= symbol.max)) continue;
    return InvalidArgument("the input shapes make {} = {}, expected {} to {}", symbol.name, solution.values[id],
                           symbol.min, symbol.max);
  }
  return OkStatus();
}

}  // namespace

int Signature::FindInput(std::string_view name) const { return FindByName(inputs, name); }
int Signature::FindOutput(std::string_view name) const { return FindByName(outputs, name); }

Dims WireShape(const Shape& shape) {
  Dims wire;
  for (const Dim& extent : shape) wire.push_back(extent.IsConstant() ? extent.constant() : -1);
  return wire;
}

void DeriveBatching(Signature& signature) {
  signature.batchable = false;
  signature.batch_symbol = -1;
  std::optional<SymbolId> batch;
  auto leads_with_batch = [&](const TensorSpec& spec) {
    if (spec.shape.empty()) return false;
    const std::optional<SymbolId> first = spec.shape[0].AsSymbol();
    if (!first || (batch && *batch != *first)) return false;
    batch = first;
    // The batch must not leak into another extent: [batch, batch] of a concatenation is not the concatenated [b, b].
    return std::none_of(spec.shape.begin() + 1, spec.shape.end(), [&](const Dim& extent) {
      std::vector<SymbolId> symbols;
      extent.CollectSymbols(symbols);
      return std::find(symbols.begin(), symbols.end(), *first) != symbols.end();
    });
  };
  if (signature.inputs.empty() || signature.outputs.empty()) return;
  if (!signature.states.empty() || signature.has_data_sizes) return;
  if (!std::all_of(signature.inputs.begin(), signature.inputs.end(), leads_with_batch)) return;
  if (!std::all_of(signature.outputs.begin(), signature.outputs.end(), leads_with_batch)) return;
  signature.batchable = true;
  signature.batch_symbol = *batch;
}

Result<std::vector<int64_t>> SolveSymbols(const Signature& signature, std::span<const Dims> input_shapes) {
  TONDAR_CHECK(input_shapes.size() == signature.inputs.size(), "{} shapes for {} inputs", input_shapes.size(),
               signature.inputs.size());
  TONDAR_RETURN_IF_ERROR(CheckRanks(signature, input_shapes));
  Solution solution{std::vector<int64_t>(signature.symbols.size(), 0), std::vector<bool>(signature.symbols.size(), false)};
  for (bool progress = true; progress;) {  // each round solves at least one symbol, so rounds <= symbols + 1
    progress = false;
    for (size_t i = 0; i < signature.inputs.size(); ++i) {
      for (size_t d = 0; d < signature.inputs[i].shape.size(); ++d) {
        const Dim& extent = signature.inputs[i].shape[d];
        if (!solution.Knows(extent)) progress |= SolveLinear(extent, input_shapes[i][d], solution);
      }
    }
  }
  for (size_t id = 0; id < signature.symbols.size(); ++id) {
    if (!solution.known[id]) solution.values[id] = signature.symbols[id].min;
  }
  TONDAR_RETURN_IF_ERROR(CheckExtents(signature, input_shapes, solution));
  TONDAR_RETURN_IF_ERROR(CheckRanges(signature, input_shapes, solution));
  return Result<std::vector<int64_t>>(std::move(solution.values));
}

}  // namespace tondar
