// `tondar inspect`: shows what a model file takes, gives and does; exit 1 if something in it is not supported.
#include <CLI/CLI.hpp>
#include <cstdio>
#include <nlohmann/json.hpp>

#include "cli/model_run.h"
#include "cli/verbs.h"

namespace tondar {
namespace {

std::string ConstantText(const ConstantSpec& constant) {
  return std::visit([](const auto& value) { return fmt::format("{}", value); }, constant.value);
}

std::string RangeText(const SymbolInfo& symbol) {
  return symbol.max == INT64_MAX ? fmt::format("{} or more", symbol.min) : fmt::format("{} to {}", symbol.min, symbol.max);
}

std::string BatchingText(const Signature& signature) {
  if (!signature.batchable) return "no";
  if (signature.batch_doubt.empty()) return "yes";
  return fmt::format("only if config.pbtxt says so: {}", signature.batch_doubt);
}

void PrintTensors(const char* title, const std::vector<TensorSpec>& specs, const Signature& signature) {
  std::printf("%s\n", title);
  for (const TensorSpec& spec : specs) {
    std::printf("  %-24s %-10s %s\n", spec.name.c_str(), std::string(Name(spec.dtype)).c_str(),
                ToString(spec.shape, signature.symbols).c_str());
  }
}

void Print(const Model& model, bool plan, bool graph) {
  const Signature& signature = model.signature();
  std::printf("%s, %s\n", std::string(model.platform()).c_str(), std::string(model.producer()).c_str());
  PrintTensors("inputs", signature.inputs, signature);
  for (const ConstantSpec& constant : signature.constants) {
    std::printf("  %-24s constant   %s\n", constant.name.c_str(), ConstantText(constant).c_str());
  }
  PrintTensors("outputs", signature.outputs, signature);
  if (!signature.states.empty()) PrintTensors("state", signature.states, signature);
  if (!signature.symbols.empty()) std::printf("symbols\n");
  for (const SymbolInfo& symbol : signature.symbols) {
    std::printf("  %-24s %s\n", symbol.name.c_str(), RangeText(symbol).c_str());
  }
  std::printf("batchable  %s\nweights    %zu bytes\noperators\n", BatchingText(signature).c_str(), model.weight_bytes());
  for (const auto& [name, count] : model.source_operators()) std::printf("  %5d  %s\n", count, name.c_str());
  if (graph) std::printf("graph\n%s", model.DescribeGraph().c_str());
  if (plan) std::printf("plan\n%s", model.DescribePlan().c_str());
}

nlohmann::json TensorsToJson(const std::vector<TensorSpec>& specs, const Signature& signature) {
  nlohmann::json list = nlohmann::json::array();
  for (const TensorSpec& spec : specs) {
    nlohmann::json shape = nlohmann::json::array();
    for (const Dim& extent : spec.shape) {
      if (extent.IsConstant()) {
        shape.push_back(extent.constant());
      } else {
        shape.push_back(extent.ToString(signature.symbols));
      }
    }
    list.push_back({{"name", spec.name}, {"dtype", Name(spec.dtype)}, {"datatype", WireName(spec.dtype)}, {"shape", shape}});
  }
  return list;
}

// Names come from the file and need not be UTF-8, which JSON must be.
std::string Text(const nlohmann::json& json) {
  return json.dump(2, ' ', false, nlohmann::json::error_handler_t::replace);
}

nlohmann::json ToJson(const Model& model, bool plan, bool graph) {
  const Signature& signature = model.signature();
  nlohmann::json json = {{"supported", true},
                         {"platform", model.platform()},
                         {"producer", model.producer()},
                         {"inputs", TensorsToJson(signature.inputs, signature)},
                         {"outputs", TensorsToJson(signature.outputs, signature)},
                         {"states", TensorsToJson(signature.states, signature)},
                         {"batchable", signature.batchable && signature.batch_doubt.empty()},
                         {"batch_doubt", signature.batch_doubt},
                         {"weight_bytes", model.weight_bytes()},
                         {"symbols", nlohmann::json::object()},
                         {"constants", nlohmann::json::object()},
                         {"operators", nlohmann::json::object()}};
  for (const SymbolInfo& symbol : signature.symbols) {
    json["symbols"][symbol.name] = {{"min", symbol.min}, {"max", nullptr}};
    if (symbol.max != INT64_MAX) json["symbols"][symbol.name]["max"] = symbol.max;
  }
  for (const ConstantSpec& constant : signature.constants) {
    std::visit([&](const auto& value) { json["constants"][constant.name] = value; }, constant.value);
  }
  for (const auto& [name, count] : model.source_operators()) json["operators"][name] = count;
  if (plan) json["plan"] = model.DescribePlan();
  if (graph) json["graph"] = model.DescribeGraph();
  return json;
}

}  // namespace

int RunInspect(int argc, char** argv) {
  CLI::App app("Shows inputs, outputs, symbols and operators of a model file.", "tondar inspect");
  ModelRunOptions options;
  bool plan = false, graph = false, json = false;
  app.add_option("file", options.model, "model file (.pt2 or .onnx)")->required();
  app.add_flag("--plan", plan, "also show the compiled steps");
  app.add_flag("--graph", graph, "also show the optimised graph");
  app.add_flag("--json", json, "print one JSON object");
  app.add_option("--accelerator", options.accelerator, "compile for this one")->capture_default_str();
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& error) {
    return app.exit(error) == 0 ? 0 : 2;
  }
  const Result<std::unique_ptr<ModelRun>> run = ModelRun::Create(options);
  if (!run.ok()) {
    if (json) std::printf("%s\n", Text({{"supported", false}, {"error", run.status().message()}}).c_str());
    return Fail("inspect", run.status());
  }
  if (json) {
    std::printf("%s\n", Text(ToJson((*run)->model(), plan, graph)).c_str());
  } else {
    Print((*run)->model(), plan, graph);
  }
  return 0;
}

}  // namespace tondar
