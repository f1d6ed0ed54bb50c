// What real models compile to: every dialect to the same few steps, without copies.
#include <gtest/gtest.h>

#include <algorithm>
#include <map>

#include "engine/base/file_source.h"
#include "engine/compiler/compile.h"
#include "engine/importers/onnx/onnx_importer.h"
#include "engine/importers/pt2/pt2_importer.h"
#include "engine/passes/pipeline.h"

namespace tondar {
namespace {

CompiledGraph Compiled(std::string_view file) {
  const std::string path = fmt::format("{}/tests/fixtures/{}", TONDAR_SOURCE_DIR, file);
  auto source = FileSource::Open(path);
  EXPECT_TRUE(source.ok()) << source.status().ToString();
  const Importer& importer = file.ends_with(".onnx") ? kOnnxImporter : kPt2Importer;
  auto model = importer.import(*source.value());
  EXPECT_TRUE(model.ok()) << model.status().ToString();
  const Status optimised = Optimise(*model.value().graph, {});
  EXPECT_TRUE(optimised.ok()) << optimised.ToString();
  auto plan = Compile(*model.value().graph, {});
  EXPECT_TRUE(plan.ok()) << plan.status().ToString();
  return std::move(plan).value();
}

// "3 conv 1 matmul": how many steps of each kind there are, copies apart.
std::string Census(const CompiledGraph& plan) {
  std::map<std::string, int> counts;
  for (const Step& step : plan.steps) {
    ++counts[step.name.ends_with("(copy)") ? "copy" : std::string(Name(KindOf(step.body)))];
  }
  std::string text;
  for (const auto& [kind, count] : counts) text += fmt::format("{}{} {}", text.empty() ? "" : " ", count, kind);
  return text;
}

void ExpectCensus(const std::string& model, std::string_view census) {
  for (std::string_view dialect : {"model", "core"}) {
    const CompiledGraph plan = Compiled(fmt::format("{}/{}.pt2", model, dialect));
    EXPECT_EQ(Census(plan), census) << dialect << "\n" << ToString(plan);
  }
}

// Per layer: one product for query, key and value, attention, three products with their residuals and activations in
// the epilogue, two norms. Before: the sum of the embeddings, a norm, the mask. After: pooling and normalising.
TEST(StructureTest, Bert) { ExpectCensus("bert_thin", "2 attention 3 map 8 matmul 5 norm 3 reduce"); }

// The class token is copied beside the patches; a map adds the positions.
TEST(StructureTest, VisionTransformer) { ExpectCensus("vit_thin", "2 attention 1 conv 1 copy 1 map 9 matmul 5 norm"); }

// Batch norm, residual and activation are in the convolutions.
TEST(StructureTest, ResNet) { ExpectCensus("resnet_thin", "20 conv 1 matmul 2 reduce"); }

// The maps are the squeeze-and-excitation gates, which the convolution before them cannot take: it feeds the gate too.
TEST(StructureTest, MobileNet) { ExpectCensus("mobilenet_thin", "18 conv 2 map 2 matmul 3 reduce"); }

TEST(StructureTest, SmallModels) {
  ExpectCensus("mlp", "3 matmul");
  ExpectCensus("digits_cnn", "2 conv 2 matmul 2 reduce");
}

// ONNX writes the same models with other operators.
TEST(StructureTest, OnnxTakesTheSameSteps) {
  auto census = [](std::string_view model) { return Census(Compiled(fmt::format("{}/model.onnx", model))); };
  EXPECT_EQ(census("mlp"), "3 matmul");
  EXPECT_EQ(census("digits_cnn"), "2 conv 2 matmul 2 reduce");
  EXPECT_EQ(census("resnet_thin"), "20 conv 1 matmul 2 reduce");
  EXPECT_EQ(census("mobilenet_thin"), "18 conv 2 map 2 matmul 3 reduce");
  // Its keys are copied: the export merges batch and heads around their transpose.
  EXPECT_EQ(census("bert_thin"), "2 attention 2 copy 4 map 8 matmul 5 norm 3 reduce");
}

// A convolution reads and writes channels-last, whatever lies between.
TEST(StructureTest, ConvolutionsExchangeChannelsLast) {
  const CompiledGraph plan = Compiled("resnet_thin/model.pt2");
  int checked = 0;
  for (const Step& step : plan.steps) {
    if (KindOf(step.body) != StepKind::kConv) continue;
    EXPECT_TRUE(step.outputs[0].strides[1].Is(1)) << step.name;
    if (plan.slots[static_cast<size_t>(step.inputs[0].slot)].role == SlotRole::kInput) continue;
    EXPECT_TRUE(step.inputs[0].strides[1].Is(1)) << step.name;
    ++checked;
  }
  EXPECT_GT(checked, 15);
}

}  // namespace
}  // namespace tondar
