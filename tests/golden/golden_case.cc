#include "tests/golden/golden_case.h"

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>

#include "engine/ops/op_schema.h"
#include "engine/ops/testing/scalar.h"

namespace tondar {
namespace {

using Json = nlohmann::json;

double ReadNumber(const Json& json) {
  if (!json.is_string()) return json.get<double>();
  const std::string text = json.get<std::string>();
  return text == "nan" ? NAN : text == "inf" ? INFINITY : -INFINITY;
}

DType ReadDType(const Json& json) {
  const auto dtype = DTypeFromName(json.get<std::string>());
  TONDAR_CHECK(dtype.has_value(), "dtype {} is unknown", json.dump());
  return *dtype;
}

Constant ReadTensor(const Json& json, std::string name) {
  const DType dtype = ReadDType(json.at("dtype"));
  const std::vector<int64_t> shape = json.at("shape").get<std::vector<int64_t>>();
  Constant tensor = AllocateConstant(std::move(name), dtype, Dims(shape));
  std::byte* to = tensor.view.data;
  for (const Json& element : json.at("data")) {
    WriteScalar(IsFloat(dtype) ? RealScalar(ReadNumber(element), dtype) : WholeScalar(element.get<int64_t>(), dtype), to);
    to += SizeOf(dtype);
  }
  return tensor;
}

Attribute ReadList(const Json& json, const std::string& type) {
  if (type.starts_with("float")) {
    std::vector<double> values;
    for (const Json& value : json) values.push_back(ReadNumber(value));
    return values;
  }
  Shape values;
  for (const Json& value : json) values.push_back(Dim(value.get<int64_t>()));
  return values;
}

Attribute ReadAttribute(const Json& json, const Formal& formal) {
  if (json.is_null()) return std::monostate();
  if (json.is_object()) return ReadDType(json.at("dtype"));
  if (json.is_array()) return ReadList(json, formal.type);
  if (json.is_boolean()) return json.get<bool>();
  if (json.is_number_integer()) {
    if (formal.type.starts_with("float")) return json.get<double>();
    return Dim(json.get<int64_t>());
  }
  if (json.is_string() && !formal.type.starts_with("str")) return ReadNumber(json);
  if (json.is_string()) return json.get<std::string>();
  return json.get<double>();
}

void ReadArgument(const Json& json, const Formal& formal, GoldenCase& golden) {
  if (formal.kind == Formal::Kind::kAttribute) {
    golden.attributes[formal.name] = ReadAttribute(json, formal);
    return;
  }
  const bool is_list = json.is_object() && json.contains("tensors");
  if (is_list) {
    for (const Json& item : json.at("tensors")) golden.tensors.push_back(item.is_null() ? -1 : item.get<int>());
    golden.segments.push_back(static_cast<int>(json.at("tensors").size()));
    return;
  }
  const bool tensor = json.is_object();
  golden.tensors.push_back(tensor ? json.at("tensor").get<int>() : -1);
  golden.segments.push_back(1);
  if (!tensor && !json.is_null()) golden.attributes[formal.name] = ReadAttribute(json, formal);  // a number in its place
}

GoldenCase ReadCase(const Json& json, std::string name) {
  GoldenCase golden;
  golden.name = std::move(name);
  golden.op = json.at("op").get<std::string>();
  std::replace_if(golden.name.begin(), golden.name.end(), [](char c) { return c == '.'; }, '_');
  const OpRegistry::Source source = OpRegistry::Get().FindSource(golden.op);
  TONDAR_CHECK(source.schema != nullptr, "{}: operator {} has no row", golden.name, golden.op);
  const Json& args = json.at("args");
  size_t known = 0;
  for (const Formal& formal : *source.formals) {
    known += args.contains(formal.name) ? 1 : 0;
    const bool absent = !args.contains(formal.name);
    if (absent && formal.kind == Formal::Kind::kAttribute) continue;
    ReadArgument(absent ? Json() : args.at(formal.name), formal, golden);
  }
  TONDAR_CHECK(known == args.size(), "{}: the signature of {} lacks an argument of {}", golden.name, golden.op, args.dump());
  for (const Json& input : json.at("inputs")) {
    golden.inputs.push_back(ReadTensor(input, "x" + std::to_string(golden.inputs.size())));
  }
  if (json.contains("error")) {
    golden.error = json.at("error").get<std::string>();
    return golden;
  }
  if (json.contains("free_signs")) golden.free_signs = json.at("free_signs").get<std::set<size_t>>();
  for (const Json& result : json.at("expected")) golden.expected.push_back(ReadTensor(result, "expected"));
  golden.atol = json.at("atol").get<double>();
  golden.rtol = json.at("rtol").get<double>();
  return golden;
}

std::vector<GoldenCase> ReadAll() {
  std::vector<std::filesystem::path> paths;
  for (const auto& entry : std::filesystem::directory_iterator(TONDAR_SOURCE_DIR "/tests/golden/ops")) {
    if (entry.path().extension() == ".json") paths.push_back(entry.path());
  }
  std::sort(paths.begin(), paths.end());
  std::vector<GoldenCase> cases;
  for (const auto& path : paths) {
    std::ifstream stream(path);
    const Json file = Json::parse(stream);
    int number = 0;
    for (const Json& json : file.at("cases")) {
      cases.push_back(ReadCase(json, fmt::format("{}_{}_{}", path.stem().string(), number++, json.at("op").get<std::string>())));
    }
  }
  TONDAR_CHECK(!cases.empty(), "no golden cases in {}", TONDAR_SOURCE_DIR "/tests/golden/ops");
  return cases;
}

bool Agree(const Scalar& expected, const Scalar& actual, double atol, double rtol) {
  if (!expected.IsReal()) return expected.whole == actual.whole;
  if (std::isnan(expected.real) || std::isnan(actual.real)) return std::isnan(expected.real) && std::isnan(actual.real);
  if (expected.real == actual.real) return true;
  return std::fabs(expected.real - actual.real) <= atol + rtol * std::fabs(expected.real);
}

}  // namespace

const std::vector<GoldenCase>& GoldenCases() {
  static const std::vector<GoldenCase> cases = ReadAll();
  return cases;
}

Result<std::unique_ptr<Graph>> BuildGraph(const GoldenCase& golden, std::vector<int64_t>* symbolic) {
  auto graph = std::make_unique<Graph>();
  std::vector<Value*> inputs;
  for (const Constant& input : golden.inputs) {
    Shape shape = ToShape(input.view.shape);
    for (Dim& extent : shape) {
      if (symbolic == nullptr || extent.constant() < 2) continue;
      symbolic->push_back(extent.constant());
      graph->symbols.push_back({fmt::format("s{}", graph->symbols.size()), 0, INT64_MAX});
      extent = Dim::Symbol(static_cast<SymbolId>(graph->symbols.size() - 1));
    }
    inputs.push_back(graph->AddInput(input.name, input.view.dtype, shape));
  }
  std::vector<Value*> tensors;
  for (int index : golden.tensors) tensors.push_back(index < 0 ? nullptr : inputs[static_cast<size_t>(index)]);
  TONDAR_ASSIGN_OR_RETURN(Node * node, AddSourceOp(*graph, golden.op, "node", tensors, golden.segments, golden.attributes));
  const size_t compared = golden.error ? node->outputs.size() : golden.expected.size();
  if (node->outputs.size() < compared) return Internal("{} results, expected {}", node->outputs.size(), compared);
  graph->outputs.assign(node->outputs.begin(), node->outputs.begin() + static_cast<ptrdiff_t>(compared));
  return graph;
}

std::set<size_t> FreeSigns(const std::vector<std::string>& names) {
  std::set<size_t> results;
  for (const std::string& name : names) results.insert(std::stoul(name.substr(name.find('_') + 1)));
  return results;
}

std::string Difference(const GoldenCase& golden, const std::vector<Constant>& actual) {
  if (actual.size() != golden.expected.size()) return fmt::format("{} results, expected {}", actual.size(), golden.expected.size());
  for (size_t i = 0; i < actual.size(); ++i) {
    const TensorView &e = golden.expected[i].view, &a = actual[i].view;
    if (e.dtype != a.dtype || !(e.shape == a.shape)) {
      return fmt::format("result {} is {} {}, expected {} {}", i, Name(a.dtype), ToString(a.shape), Name(e.dtype), ToString(e.shape));
    }
    const size_t size = SizeOf(e.dtype);
    for (size_t k = 0; k < static_cast<size_t>(e.elements()); ++k) {
      const Scalar want = ReadScalar(e.data + k * size, e.dtype), got = ReadScalar(a.data + k * size, a.dtype);
      const bool agree = golden.free_signs.contains(i)
                             ? Agree(ApplyUnary(LoopOp::kAbs, want), ApplyUnary(LoopOp::kAbs, got), golden.atol, golden.rtol)
                             : Agree(want, got, golden.atol, golden.rtol);
      if (agree) continue;
      return fmt::format("result {}[{}] is {}, expected {}", i, k, got.AsReal(), want.AsReal());
    }
  }
  return "";
}

}  // namespace tondar
