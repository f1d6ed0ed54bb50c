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

// "s77", "u0": what an exporter calls a size that has no name.
bool IsMadeUp(std::string_view name) {
  return name.size() > 1 && (name[0] == 's' || name[0] == 'u') &&
         name.find_first_not_of("0123456789", 1) == std::string_view::npos;
}

// The shape as callers know it: extents by the names that people gave, -1 for others that vary.
std::string ShapeText(const Signature& signature, const Shape& shape) {
  std::string text;
  for (const Dim& extent : shape) {
    std::vector<SymbolId> symbols;
    extent.CollectSymbols(symbols);
    const bool named = std::none_of(symbols.begin(), symbols.end(), [&](SymbolId id) {
      return IsMadeUp(signature.symbols[static_cast<size_t>(id)].name);
    });
    text += fmt::format("{}{}", text.empty() ? "" : ", ", named ? extent.ToString(signature.symbols) : "-1");
  }
  return "[" + text + "]";
}

// Says of one extent what was expected, in the user's terms.
Status ExtentMismatch(const Signature& signature, const TensorSpec& spec, const Dims& found, size_t extent,
                      std::string_view expected) {
  return InvalidArgument("input '{}': shape {} does not match {}: extent {} is {}, expected {}", spec.name,
                         ToString(found), ShapeText(signature, spec.shape), extent, found[extent], expected);
}

std::string RangeText(const SymbolInfo& symbol) {
  const std::string name = IsMadeUp(symbol.name) ? "" : fmt::format(" ({})", symbol.name);
  if (symbol.max == INT64_MAX) return fmt::format("at least {}{}", symbol.min, name);
  return fmt::format("{} to {}{}", symbol.min, symbol.max, name);
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
                             input_shapes[i].size(), spec.shape.size(), ShapeText(signature, spec.shape));
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
      const std::string symbolic = spec.shape[d].ToString(InUserTerms(signature));
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
      return ExtentMismatch(signature, spec, input_shapes[i], d, RangeText(symbol));
    }
  }
  for (size_t id = 0; id < signature.symbols.size(); ++id) {
    const SymbolInfo& symbol = signature.symbols[id];
    if (!solution.known[id] || (solution.values[id] >= symbol.min && solution.values[id] <= symbol.max)) continue;
    return InvalidArgument("the input shapes make {} = {}, expected {} to {}", InUserTerms(signature)[id].name,
                           solution.values[id], symbol.min, symbol.max);
  }
  return OkStatus();
}

}  // namespace

int Signature::FindInput(std::string_view name) const { return FindByName(inputs, name); }
int Signature::FindOutput(std::string_view name) const { return FindByName(outputs, name); }

std::vector<SymbolInfo> InUserTerms(const Signature& signature) {
  std::vector<SymbolInfo> terms = signature.symbols;
  auto name = [&](SymbolId id, const std::string& term) {
    SymbolInfo& symbol = terms[static_cast<size_t>(id)];
    if (IsMadeUp(symbol.name)) symbol.name = term;
  };
  for (const TensorSpec& input : signature.inputs) {
    if (input.number >= 0) name(input.number, input.name);
    for (size_t d = 0; d < input.shape.size(); ++d) {
      if (const auto id = input.shape[d].AsSymbol()) name(*id, fmt::format("{}.shape[{}]", input.name, d));
    }
  }
  return terms;
}

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
