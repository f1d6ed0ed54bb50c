#include "engine/importers/onnx/op_table.h"

#include <map>
#include <string>

namespace tondar::onnx_format {
namespace {

struct Family {
  std::string_view domain;
  std::span<const OpRow> (*rows)();
};
constexpr Family kFamilies[] = {
    {"", ElementwiseOps},
    {"", ShapeOps},
    {"", IndexingOps},
    {"", ScatterOps},
    {"", LossOps},
    {"", ReductionOps},
    {"", NeuralOps},
    {"", ResizeOps},
    {"", AttentionOps},
    {"", RecurrentOps},
    {"", QuantisedOps},
    {"com.microsoft", MicrosoftOps},
    {"com.microsoft", MicrosoftQuantisedOps},
};

using Table = std::map<std::string, const OpRow*, std::less<>>;

std::string Key(std::string_view domain, std::string_view op_type) { return fmt::format("{}.{}", domain, op_type); }

Table BuildTable() {
  Table table;
  for (const Family& family : kFamilies) {
    for (const OpRow& row : family.rows()) {
      TONDAR_CHECK(table.emplace(Key(family.domain, row.op_type), &row).second, "two rows for {}", row.op_type);
    }
  }
  return table;
}

}  // namespace

const OpRow* FindOp(std::string_view domain, std::string_view op_type) {
  static const Table kTable = BuildTable();
  const auto found = kTable.find(Key(domain, op_type));
  return found == kTable.end() ? nullptr : found->second;
}

}  // namespace tondar::onnx_format
