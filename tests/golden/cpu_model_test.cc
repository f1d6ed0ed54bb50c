// Whole models through the engine's door on the CPU: every input set, every dialect, replayed, at any number of threads, and
// each row alone.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>
#include <filesystem>
#include <fstream>

#include <nlohmann/json.hpp>

#include "engine/api/engine.h"
#include "engine/archive/npz.h"
#include "tests/golden/golden_case.h"
#include "tests/golden/tested_isa.h"

namespace tondar {
namespace {

namespace fs = std::filesystem;

const fs::path kFixtures = TONDAR_SOURCE_DIR "/tests/fixtures";

std::vector<std::string> ModelFiles() {
  std::vector<std::string> files;
  for (const auto& entry : fs::recursive_directory_iterator(kFixtures)) {
    const std::string extension = entry.path().extension().string();
    if (extension == ".pt2" || extension == ".onnx") files.push_back(fs::relative(entry.path(), kFixtures).string());
  }
  std::sort(files.begin(), files.end());
  return files;
}

std::vector<Constant> ReadInputs(const fs::path& npz, const Signature& signature) {
  const NpzReader reader = NpzReader::Open(npz.string()).value();
  std::vector<Constant> inputs;
  for (const TensorSpec& spec : signature.inputs) {
    NpyArray array = reader.Get(spec.name).value();
    array.view.dtype = spec.dtype;  // bfloat16 comes as uint16
    inputs.push_back(CopyToConstant(spec.name, array.view));
  }
  return inputs;
}

// "out_<n>" in the order of n.
std::vector<Constant> ReadOutputs(const fs::path& npz, const Signature& signature) {
  const NpzReader reader = NpzReader::Open(npz.string()).value();
  std::vector<std::string> names = reader.names();
  std::sort(names.begin(), names.end(),
            [](const auto& a, const auto& b) { return std::stoi(a.substr(4)) < std::stoi(b.substr(4)); });
  std::vector<Constant> outputs;
  for (size_t i = 0; i < names.size(); ++i) {
    NpyArray array = reader.Get(names[i]).value();
    if (i < signature.outputs.size()) array.view.dtype = signature.outputs[i].dtype;
    outputs.push_back(CopyToConstant(names[i], array.view));
  }
  return outputs;
}

std::vector<Constant> RunOnce(Session& session, const std::vector<Constant>& inputs) {
  std::vector<Dims> shapes;
  for (const Constant& input : inputs) shapes.push_back(input.view.shape);
  const Binding* binding = session.Bind(shapes).value();
  for (size_t i = 0; i < inputs.size(); ++i) CopyElements(inputs[i].view, binding->inputs[i]);
  const Status status = session.Run();
  EXPECT_TRUE(status.ok()) << status.ToString();
  std::vector<Constant> outputs;
  for (const TensorView& output : binding->outputs) outputs.push_back(CopyToConstant("", output));
  return outputs;
}

Constant Row(const Constant& tensor, int64_t row) {
  TensorView view = tensor.view;
  view.data += row * view.strides[0] * static_cast<int64_t>(SizeOf(view.dtype));
  view.shape[0] = 1;
  return CopyToConstant(tensor.name, view);
}

bool SameBits(const Constant& a, const Constant& b) {
  const size_t bytes = static_cast<size_t>(a.view.elements()) * SizeOf(a.view.dtype);
  return a.view.dtype == b.view.dtype && a.view.shape == b.view.shape &&
         (bytes == 0 || std::memcmp(a.view.data, b.view.data, bytes) == 0);
}

void ExpectSameBits(const std::vector<Constant>& found, const std::vector<Constant>& expected) {
  ASSERT_EQ(found.size(), expected.size());
  for (size_t i = 0; i < found.size(); ++i) EXPECT_TRUE(SameBits(found[i], expected[i])) << "output " << i;
}

class CpuModel : public testing::TestWithParam<std::string> {
 protected:
  void SetUp() override {
    engine_ = Engine::Create({.cpu_isa = TestedIsa()}).value();
    auto model = engine_->Load((kFixtures / GetParam()).string(), {});
    ASSERT_TRUE(model.ok()) << model.status().ToString();
    model_ = *std::move(model);
  }

  fs::path Folder() const { return (kFixtures / GetParam()).parent_path(); }
  bool IsStateful() const { return !model_->signature().states.empty(); }
  std::unique_ptr<Session> NewSession(int threads) { return model_->CreateSession({.threads = threads}).value(); }

  // The input sets, numbered from 0.
  std::vector<std::vector<Constant>> InputSets() const {
    std::vector<std::vector<Constant>> sets;
    for (int k = 0; fs::exists(InputFile(k)); ++k) sets.push_back(ReadInputs(InputFile(k), model_->signature()));
    return sets;
  }
  fs::path InputFile(int k) const { return Folder() / ("inputs_" + std::to_string(k) + ".npz"); }

  std::unique_ptr<Engine> engine_;
  std::shared_ptr<const Model> model_;
};

TEST_P(CpuModel, AgreesWithTheFramework) {
  std::ifstream file(Folder() / "meta.json");
  const auto meta = nlohmann::json::parse(file);
  const auto sets = InputSets();
  ASSERT_FALSE(sets.empty());
  const auto session = NewSession(1);
  const int repeats = IsStateful() ? 1 : 3;  // the last is a replay
  for (int round = 0; round < 2; ++round) {  // the framework began with the file's state
    ASSERT_TRUE(session->ResetState().ok());
    for (size_t k = 0; k < sets.size(); ++k) {
      GoldenCase golden;
      golden.expected = ReadOutputs(Folder() / ("outputs_" + std::to_string(k) + ".npz"), model_->signature());
      golden.atol = meta.at("atol");
      golden.rtol = meta.at("rtol");
      golden.free_signs = FreeSigns(meta.value("order_free", std::vector<std::string>()));
      for (int run = 0; run < repeats; ++run) {
        EXPECT_EQ(Difference(golden, RunOnce(*session, sets[k])), "") << "input set " << k << ", run " << run;
      }
    }
  }
}

using SavedState = std::vector<std::vector<std::byte>>;

SavedState Save(const Signature& signature, Session& session) {
  SavedState saved;
  for (size_t i = 0; i < signature.states.size(); ++i) {
    const TensorSpec& state = signature.states[i];
    saved.emplace_back(static_cast<size_t>(ElementCount(state.shape).constant()) * SizeOf(state.dtype));
    EXPECT_TRUE(session.CopyStateOut(i, saved.back()).ok()) << state.name;
  }
  return saved;
}

TEST_P(CpuModel, StateGoesOnInAnotherSession) {
  if (!IsStateful()) GTEST_SKIP() << "the model has no state";
  const auto sets = InputSets();
  ASSERT_GE(sets.size(), 2U);
  const auto first = NewSession(1), second = NewSession(1);
  RunOnce(*first, sets[0]);
  const SavedState saved = Save(model_->signature(), *first);
  const std::vector<Constant> expected = RunOnce(*first, sets[1]);
  RunOnce(*second, sets[1]);
  for (size_t i = 0; i < saved.size(); ++i) ASSERT_TRUE(second->CopyStateIn(i, saved[i]).ok());
  ExpectSameBits(RunOnce(*second, sets[1]), expected);
  EXPECT_FALSE(second->CopyStateIn(saved.size(), saved[0]).ok()) << "there are only so many";
  EXPECT_FALSE(second->CopyStateIn(0, std::span(saved[0]).subspan(1)).ok()) << "a wrong size";
}

TEST_P(CpuModel, StepByStepGivesTheBitsOfAReplay) {
  const auto replayed = NewSession(1);
  const auto eager = model_->CreateSession({.threads = 1, .capture = false}).value();
  for (const auto& inputs : InputSets()) {
    ExpectSameBits(RunOnce(*eager, inputs), RunOnce(*replayed, inputs));
    if (!IsStateful()) ExpectSameBits(RunOnce(*replayed, inputs), RunOnce(*eager, inputs));
  }
  EXPECT_EQ(eager->counters().replays, 0u);
}

TEST_P(CpuModel, ThreadsDoNotChangeBits) {
  const auto alone = NewSession(1), split = NewSession(3);
  for (const auto& inputs : InputSets()) ExpectSameBits(RunOnce(*split, inputs), RunOnce(*alone, inputs));
}

TEST_P(CpuModel, ARowAloneHasTheBitsItHasInTheBatch) {
  if (!model_->signature().batchable) GTEST_SKIP() << "the model does not batch";
  if (!model_->signature().batch_doubt.empty()) GTEST_SKIP() << model_->signature().batch_doubt;
  const auto session = NewSession(2);
  for (const auto& inputs : InputSets()) {
    const std::vector<Constant> together = RunOnce(*session, inputs);
    for (int64_t row = 0; row < inputs[0].view.shape[0]; ++row) {
      std::vector<Constant> one, expected;
      for (const Constant& input : inputs) one.push_back(Row(input, row));
      for (const Constant& output : together) expected.push_back(Row(output, row));
      ExpectSameBits(RunOnce(*session, one), expected);
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Fixtures, CpuModel, testing::ValuesIn(ModelFiles()), [](const auto& info) {
  std::string name = info.param;
  std::replace_if(name.begin(), name.end(), [](char c) { return !std::isalnum(static_cast<unsigned char>(c)); }, '_');
  return name;
});

}  // namespace
}  // namespace tondar
