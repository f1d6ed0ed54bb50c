// Whole models in every dialect, imported, optimised, compiled and interpreted, against the outputs that PyTorch gave: importer,
// operators, passes and compiler together, without any kernel.
#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <fstream>

#include <nlohmann/json.hpp>

#include "engine/archive/npz.h"
#include "engine/base/file_source.h"
#include "engine/compiler/compile.h"
#include "engine/importers/onnx/onnx_importer.h"
#include "engine/importers/pt2/pt2_importer.h"
#include "engine/ops/lowering.h"
#include "engine/ops/testing/interpreter.h"
#include "engine/passes/pipeline.h"
#include "tests/golden/golden_case.h"
#include "tests/golden/run_plan.h"

namespace tondar {
namespace {

std::vector<std::string> ModelFiles() {
  std::vector<std::string> files;
  const std::filesystem::path root = TONDAR_SOURCE_DIR "/tests/fixtures";
  for (const auto& entry : std::filesystem::recursive_directory_iterator(root)) {
    const std::string extension = entry.path().extension().string();
    if (extension == ".pt2" || extension == ".onnx") files.push_back(std::filesystem::relative(entry.path(), root).string());
  }
  std::sort(files.begin(), files.end());
  return files;
}

// "out_<n>" in the order of n.
std::vector<std::string> OutputNames(const NpzReader& reader) {
  std::vector<std::string> names = reader.names();
  std::sort(names.begin(), names.end(), [](const std::string& a, const std::string& b) {
    return std::stoi(a.substr(4)) < std::stoi(b.substr(4));
  });
  return names;
}

Result<std::vector<Constant>> ReadAll(const std::string& path, const std::vector<std::string>* wanted = nullptr) {
  TONDAR_ASSIGN_OR_RETURN(const NpzReader reader, NpzReader::Open(path));
  std::vector<Constant> tensors;
  for (const std::string& name : wanted != nullptr ? *wanted : OutputNames(reader)) {
    TONDAR_ASSIGN_OR_RETURN(const NpyArray array, reader.Get(name));
    tensors.push_back(CopyToConstant(name, array.view));
  }
  return tensors;
}

using Outputs = Result<std::vector<Constant>>;
using RunFunction = Outputs (*)(Graph& graph, std::span<const Constant> inputs, std::span<const int64_t> symbols);

Result<ImportedModel> ImportFile(const std::string& file) {
  TONDAR_ASSIGN_OR_RETURN(const auto source, FileSource::Open(file));
  const Importer& importer = file.ends_with(".onnx") ? kOnnxImporter : kPt2Importer;
  return importer.import(*source);
}

// What differs between the results that `run` gives and those beside the model; empty if nothing does.
Result<std::string> Compare(const std::string& file, const ImportedModel& model, RunFunction run) {
  const std::string folder = std::filesystem::path(file).parent_path().string();
  std::vector<std::string> names;
  for (const TensorSpec& input : model.signature.inputs) names.push_back(input.name);
  TONDAR_ASSIGN_OR_RETURN(std::vector<Constant> inputs, ReadAll(folder + "/inputs_0.npz", &names));
  std::vector<Dims> shapes;
  for (size_t i = 0; i < inputs.size(); ++i) {
    inputs[i].view.dtype = model.signature.inputs[i].dtype;  // bfloat16 comes as uint16
    shapes.push_back(inputs[i].view.shape);
  }
  for (const State& state : model.graph->states) inputs.push_back(state.initial);
  TONDAR_ASSIGN_OR_RETURN(const std::vector<int64_t> symbols, SolveSymbols(model.signature, shapes));
  GoldenCase golden;
  TONDAR_ASSIGN_OR_RETURN(golden.expected, ReadAll(folder + "/outputs_0.npz"));
  std::ifstream stated(folder + "/meta.json");
  const auto meta = nlohmann::json::parse(stated);
  for (size_t i = 0; i < golden.expected.size() && i < model.signature.outputs.size(); ++i) {
    DType& dtype = golden.expected[i].view.dtype;
    if (dtype == DType::kUInt16) dtype = model.signature.outputs[i].dtype;  // the bits of a bfloat16
  }
  golden.atol = meta.at("atol");
  golden.rtol = meta.at("rtol");
  golden.free_signs = FreeSigns(meta.value("order_free", std::vector<std::string>()));
  TONDAR_ASSIGN_OR_RETURN(std::vector<Constant> actual, run(*model.graph, inputs, symbols));
  actual.resize(std::min(actual.size(), golden.expected.size()));  // after them come states
  return Difference(golden, actual);
}

class Models : public testing::TestWithParam<std::string> {
 protected:
  void Expect(RunFunction run) {
    const std::string file = TONDAR_SOURCE_DIR "/tests/fixtures/" + GetParam();
    const Result<ImportedModel> model = ImportFile(file);
    ASSERT_TRUE(model.ok()) << model.status().ToString();
    if (model->signature.has_data_sizes) GTEST_SKIP() << "the interpreter finds no sizes out; cpu_model_test runs it";
    const Result<std::string> difference = Compare(file, *model, run);
    ASSERT_TRUE(difference.ok()) << difference.status().ToString();
    EXPECT_EQ(*difference, "");
  }
};

TEST_P(Models, AgreeAfterLowering) {
  Expect([](Graph& graph, std::span<const Constant> inputs, std::span<const int64_t> symbols) -> Outputs {
    TONDAR_RETURN_IF_ERROR(DecomposeGraph(graph));
    TONDAR_RETURN_IF_ERROR(LowerGraph(graph));
    TONDAR_RETURN_IF_ERROR(VerifyGraph(graph));
    return Interpret(graph, inputs, symbols);
  });
}

TEST_P(Models, AgreeAfterAllPasses) {
  Expect([](Graph& graph, std::span<const Constant> inputs, std::span<const int64_t> symbols) -> Outputs {
    TONDAR_RETURN_IF_ERROR(Optimise(graph, {}));
    return Interpret(graph, inputs, symbols);
  });
}

TEST_P(Models, AgreeAfterCompiling) {
  Expect([](Graph& graph, std::span<const Constant> inputs, std::span<const int64_t> symbols) -> Outputs {
    TONDAR_RETURN_IF_ERROR(Optimise(graph, {}));
    TONDAR_ASSIGN_OR_RETURN(const CompiledGraph plan, Compile(graph, {}));
    return RunPlan(plan, inputs, symbols);
  });
}

INSTANTIATE_TEST_SUITE_P(Fixtures, Models, testing::ValuesIn(ModelFiles()), [](const auto& info) {
  std::string name = info.param;
  std::replace_if(name.begin(), name.end(), [](char c) { return !std::isalnum(static_cast<unsigned char>(c)); }, '_');
  return name;
});

}  // namespace
}  // namespace tondar
