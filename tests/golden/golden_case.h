// GoldenCase: one operator applied once, with the values that the source framework gives.
#ifndef TONDAR_TESTS_GOLDEN_GOLDEN_CASE_H_
#define TONDAR_TESTS_GOLDEN_GOLDEN_CASE_H_

#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "engine/ir/graph.h"

namespace tondar {

struct GoldenCase {
  std::string name;  // "binary_17_aten_add_Tensor", unique
  std::string op;
  std::vector<Constant> inputs;
  // Arguments in the order of the operator's signature: which input each tensor formal took (-1: None), how many.
  std::vector<int> tensors;
  std::vector<int> segments;
  Attributes attributes;
  std::vector<Constant> expected;
  std::optional<std::string> error;  // a status code's name
  double atol = 0, rtol = 0;
  std::set<size_t> free_signs;  // results that are compared by magnitude: eigenvectors, say
};

// Every case of tests/golden/ops/*.json, as tools/golden/make_op_goldens.py writes them. The process ends if a file
// is broken or names an unknown operator.
const std::vector<GoldenCase>& GoldenCases();

// A graph of one source operator, its inputs being the graph's. With `symbolic`, extents above 1 become symbols, one
// each, whose values go there.
Result<std::unique_ptr<Graph>> BuildGraph(const GoldenCase& golden, std::vector<int64_t>* symbolic = nullptr);

// The results of a fixture whose signs are free, as its meta.json names them: "out_3".
std::set<size_t> FreeSigns(const std::vector<std::string>& names);

// Empty if the tensors agree within the case's tolerance; else what differs first.
std::string Difference(const GoldenCase& golden, const std::vector<Constant>& actual);

}  // namespace tondar

#endif  // TONDAR_TESTS_GOLDEN_GOLDEN_CASE_H_
