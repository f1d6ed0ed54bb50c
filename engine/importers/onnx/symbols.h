// The symbolic sizes of a model's inputs.
#ifndef TONDAR_ENGINE_IMPORTERS_ONNX_SYMBOLS_H_
#define TONDAR_ENGINE_IMPORTERS_ONNX_SYMBOLS_H_

#include <map>
#include <string>
#include <vector>

#include "engine/types/dim.h"

namespace tondar::onnx_format {

// One symbol per name in a dim_param, "batch" or "4*s18 + 1"; equal names are equal sizes. One thread.
class Symbols {
 public:
  // `symbols` is the graph's table, which grows; it outlives this.
  explicit Symbols(std::vector<SymbolInfo>& symbols) : symbols_(symbols) {}

  // The size that `param` means. What is no expression over names is a name as a whole. `outermost`: it is the first
  // dimension of its tensor; then its names are at least 1, for an empty batch is no call. Others may be 0.
  Dim Get(const std::string& param, bool outermost);
  // A size without a name.
  Dim Fresh(const std::string& hint, bool outermost);

 private:
  SymbolId Add(const std::string& name, bool outermost);

  std::vector<SymbolInfo>& symbols_;
  std::map<std::string, SymbolId> known_;
};

}  // namespace tondar::onnx_format

#endif  // TONDAR_ENGINE_IMPORTERS_ONNX_SYMBOLS_H_
