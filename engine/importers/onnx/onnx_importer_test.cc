#include "engine/importers/onnx/onnx_importer.h"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <random>
#include <sstream>

#include "engine/base/file_source.h"
#include "engine/base/testing/faulty_source.h"
#include "engine/importers/onnx/payloads.h"
#include "onnx.pb.h"

namespace tondar {
namespace {

using onnx::AttributeProto;
using onnx::GraphProto;
using onnx::ModelProto;
using onnx::NodeProto;
using onnx::TensorProto;
using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;

const std::string kFixtures = TONDAR_SOURCE_DIR "/tests/fixtures/";
constexpr int kFloat = 1, kInt64 = 7, kBool = 9;

std::string ReadFile(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  std::stringstream text;
  text << file.rdbuf();
  return text.str();
}

Result<ImportedModel> ImportBytes(const std::string& bytes, const std::string& path = "test.onnx") {
  return kOnnxImporter.import(MemorySource(path, bytes));
}

Result<ImportedModel> ImportModel(const ModelProto& model, const std::string& path = "test.onnx") {
  return ImportBytes(model.SerializeAsString(), path);
}

std::string ErrorOf(const ModelProto& model) {
  const auto imported = ImportModel(model);
  return imported.ok() ? "" : imported.status().ToString();
}

// ---- Writing models ----

ModelProto NewModel(int64_t opset = 20) {
  ModelProto model;
  model.set_ir_version(10);
  model.set_producer_name("test");
  model.add_opset_import()->set_version(opset);
  model.mutable_graph()->set_name("g");
  return model;
}

// Extents: a number, or a name.
void AddValue(onnx::ValueInfoProto* value, const std::string& name, int dtype, const std::vector<std::string>& extents) {
  value->set_name(name);
  auto* type = value->mutable_type()->mutable_tensor_type();
  type->set_elem_type(dtype);
  type->mutable_shape();
  for (const std::string& extent : extents) {
    auto* dim = type->mutable_shape()->add_dim();
    if (extent == "?") continue;
    if (std::isdigit(static_cast<unsigned char>(extent[0])) && extent.find('*') == std::string::npos) {
      dim->set_dim_value(std::stoll(extent));
    } else {
      dim->set_dim_param(extent);
    }
  }
}

void AddInput(ModelProto& model, const std::string& name, const std::vector<std::string>& extents, int dtype = kFloat) {
  AddValue(model.mutable_graph()->add_input(), name, dtype, extents);
}

void AddOutput(ModelProto& model, const std::string& name, int dtype = kFloat) {
  AddValue(model.mutable_graph()->add_output(), name, dtype, {});
}

NodeProto NewNode(const std::string& type, const std::vector<std::string>& inputs, const std::vector<std::string>& outputs) {
  NodeProto node;
  node.set_op_type(type);
  node.set_name("node_" + outputs.at(0));
  for (const std::string& input : inputs) node.add_input(input);
  for (const std::string& output : outputs) node.add_output(output);
  return node;
}

NodeProto* Add(ModelProto& model, const std::string& type, const std::vector<std::string>& inputs,
               const std::vector<std::string>& outputs) {
  NodeProto* node = model.mutable_graph()->add_node();
  *node = NewNode(type, inputs, outputs);
  return node;
}

void SetInt(NodeProto* node, const std::string& name, int64_t value) {
  AttributeProto* attribute = node->add_attribute();
  attribute->set_name(name);
  attribute->set_i(value);
}

void AddInts(ModelProto& model, const std::string& name, const std::vector<int64_t>& values) {
  TensorProto* tensor = model.mutable_graph()->add_initializer();
  tensor->set_name(name);
  tensor->set_data_type(kInt64);
  tensor->add_dims(static_cast<int64_t>(values.size()));
  for (const int64_t value : values) tensor->add_int64_data(value);
}

TensorProto* AddFloats(ModelProto& model, const std::string& name, const std::vector<int64_t>& shape, float value) {
  TensorProto* tensor = model.mutable_graph()->add_initializer();
  tensor->set_name(name);
  tensor->set_data_type(kFloat);
  int64_t count = 1;
  for (const int64_t extent : shape) tensor->add_dims(extent), count *= extent;
  const std::vector<float> values(static_cast<size_t>(count), value);
  tensor->set_raw_data(values.data(), values.size() * sizeof(float));
  return tensor;
}

// x [batch, 4] -> y = relu(x).
ModelProto ReluModel() {
  ModelProto model = NewModel();
  AddInput(model, "x", {"batch", "4"});
  Add(model, "Relu", {"x"}, {"y"});
  AddOutput(model, "y");
  return model;
}

std::string ShapeText(const ImportedModel& model, size_t output = 0) {
  return ToString(model.signature.outputs.at(output).shape, model.signature.symbols);
}

// ---- Real files ----

std::vector<std::string> AllModels() {
  std::vector<std::string> paths;
  for (const auto& entry : std::filesystem::recursive_directory_iterator(kFixtures)) {
    if (entry.path().extension() == ".onnx") paths.push_back(entry.path().string());
  }
  std::sort(paths.begin(), paths.end());
  return paths;
}

TEST(OnnxImporterTest, ReadsRealFiles) {
  ASSERT_FALSE(AllModels().empty());
  for (const std::string& path : AllModels()) {
    const auto file = FileSource::Open(path).value();
    EXPECT_TRUE(kOnnxImporter.matches(*file)) << path;
    const auto model = kOnnxImporter.import(*file);
    ASSERT_TRUE(model.ok()) << model.status().ToString();
    EXPECT_EQ(model->platform, "onnx");
  }
}

TEST(OnnxImporterTest, ReadsTheSignatureOfARealFile) {
  const auto model = kOnnxImporter.import(*FileSource::Open(kFixtures + "bert_thin/model.onnx").value()).value();
  EXPECT_THAT(model.producer, testing::StartsWith("pytorch "));
  ASSERT_EQ(model.signature.inputs.size(), 2u);
  EXPECT_EQ(model.signature.inputs[0].name, "input_ids");
  EXPECT_EQ(model.signature.inputs[1].name, "attention_mask");
  EXPECT_TRUE(model.signature.batchable);
  EXPECT_EQ(model.signature.symbols[static_cast<size_t>(model.signature.batch_symbol)].min, 1);
}

TEST(OnnxImporterTest, DoesNotMatchOtherFiles) {
  for (const std::string& bytes : {std::string(), std::string("PK\3\4"), std::string("\x08\x01\x12\xff\xff\xff\x07"), std::string(100, '\0')}) {
    EXPECT_FALSE(kOnnxImporter.matches(MemorySource("x", bytes))) << bytes.size();
  }
}

// A prefix either parses as a smaller file, which lacks things, or not at all; nothing may crash.
TEST(OnnxImporterTest, RefusesEveryTruncation) {
  const std::string bytes = ReadFile(kFixtures + "mlp/model.onnx");
  for (size_t length = 0; length < bytes.size(); length += 7) {
    const auto model = ImportBytes(bytes.substr(0, length));
    ASSERT_FALSE(model.ok()) << length << " bytes";
    EXPECT_EQ(model.status().code(), StatusCode::kInvalidArgument) << model.status().ToString();
  }
}

TEST(OnnxImporterTest, SurvivesDamage) {
  const std::string bytes = ReadFile(kFixtures + "digits_cnn/model.onnx");
  std::mt19937 random(7);
  for (int trial = 0; trial < 2000; ++trial) {
    std::string broken = bytes;
    for (int i = 0; i < 1 + trial % 4; ++i) broken[random() % std::min<size_t>(broken.size(), 6000)] = static_cast<char>(random());
    const auto model = ImportBytes(broken);
    if (!model.ok()) {
      EXPECT_FALSE(model.status().message().empty());
    }
  }
}

// ---- Weights ----

TEST(OnnxImporterTest, CopiesWeightsOfBytesThatNobodyKeeps) {
  ModelProto model = NewModel();
  AddInput(model, "x", {"batch", "64"});
  AddFloats(model, "w", {64}, 2.0F);
  Add(model, "Add", {"x", "w"}, {"y"});
  AddOutput(model, "y");
  const auto imported = ImportModel(model).value();  // the bytes are gone
  EXPECT_EQ(imported.graph->nodes().front()->inputs[1]->constant->view.as<float>()[63], 2.0F);
}

TEST(OnnxImporterTest, ReadsNoWeightThatNothingUses) {
  ModelProto model = NewModel();
  AddInput(model, "x", {"batch", "64"});
  AddFloats(model, "unused", {100000}, 1.0F);
  AddFloats(model, "w", {64}, 2.0F);
  Add(model, "Add", {"x", "w"}, {"y"});
  AddOutput(model, "y");
  const std::string bytes = model.SerializeAsString();
  const MemorySource memory("test.onnx", bytes);
  const FaultySource source(memory);
  ASSERT_TRUE(kOnnxImporter.import(source).ok());
  EXPECT_LT(source.bytes_read(), 40000u) << "the structure, in pieces, and the weight in use";
}

TEST(OnnxImporterTest, SurvivesEveryReadThatFails) {
  const std::string bytes = ReadFile(kFixtures + "mlp/model.onnx");
  const MemorySource memory("test.onnx", bytes);
  for (size_t good = 0;; ++good) {
    const FaultySource source(memory, good);
    const auto model = kOnnxImporter.import(source);
    if (!source.failed()) {
      EXPECT_TRUE(model.ok()) << model.status().ToString();
      EXPECT_GT(good, 4u) << "weights are read one by one";
      return;
    }
    ASSERT_FALSE(model.ok()) << good;
    EXPECT_THAT(model.status().ToString(), HasSubstr("read on purpose")) << good;
  }
}

TEST(OnnxImporterTest, ChecksWeightsThatNothingUses) {
  ModelProto model = ReluModel();
  AddFloats(model, "unused", {64}, 2.0F)->set_dims(0, 65);
  EXPECT_THAT(ErrorOf(model), HasSubstr("initializer 'unused': FLOAT [65] needs 260 bytes, found 256"));
}

class ExternalData : public testing::Test {
 protected:
  void SetUp() override {
    std::filesystem::create_directories(folder_ / "sub");
    model_ = NewModel();
    AddInput(model_, "x", {"batch", "4"});
    weight_ = AddFloats(model_, "w", {4}, 0);
    weight_->clear_raw_data();
    weight_->set_data_location(1);
    Add(model_, "Add", {"x", "w"}, {"y"});
    AddOutput(model_, "y");
  }
  void TearDown() override { std::filesystem::remove_all(folder_); }

  void Set(const std::string& key, const std::string& value) {
    auto* entry = weight_->add_external_data();
    entry->set_key(key);
    entry->set_value(value);
  }
  void Write(const std::string& name, const std::vector<float>& values) {
    std::ofstream(folder_ / name, std::ios::binary).write(reinterpret_cast<const char*>(values.data()), static_cast<std::streamsize>(values.size() * 4));
  }
  Result<ImportedModel> Import() { return ImportModel(model_, (folder_ / "model.onnx").string()); }

  const std::filesystem::path folder_ = std::filesystem::path(testing::TempDir()) / "onnx_external_data";
  ModelProto model_;
  TensorProto* weight_ = nullptr;
};

TEST_F(ExternalData, IsReadFromItsPlace) {
  Write("sub/w.bin", {0, 0, 1, 2, 3, 4});
  Set("location", "sub/w.bin");
  Set("offset", "8");
  Set("length", "16");
  const auto model = Import();
  ASSERT_TRUE(model.ok()) << model.status().ToString();
  const Constant& w = *model->graph->nodes().front()->inputs[1]->constant;
  Write("sub/w.bin", {});  // whatever becomes of the file
  EXPECT_THAT(std::vector<float>(w.view.as<float>(), w.view.as<float>() + 4), ElementsAre(1, 2, 3, 4));
}

TEST_F(ExternalData, MustLieInTheFolder) {
  for (const char* location : {"../w.bin", "/etc/passwd", "sub/../../w.bin", ""}) {
    weight_->clear_external_data();
    Set("location", location);
    const auto model = Import();
    ASSERT_FALSE(model.ok());
    EXPECT_THAT(model.status().ToString(), AllOf(HasSubstr("INVALID_ARGUMENT"), HasSubstr("within the model's folder"))) << location;
  }
}

TEST_F(ExternalData, MustExistAndFit) {
  Set("location", "w.bin");
  EXPECT_THAT(Import().status().ToString(), HasSubstr("no such file"));
  Write("w.bin", {1, 2, 3});
  EXPECT_THAT(Import().status().ToString(), HasSubstr("needs 16 bytes, found 12"));
  Set("offset", "99");
  EXPECT_THAT(Import().status().ToString(), HasSubstr("do not fit the 12 bytes"));
}

TEST(OnnxImporterTest, ReadsEveryFormOfConstant) {
  ModelProto model = NewModel();
  AddInput(model, "x", {"4"});
  AttributeProto* floats = Add(model, "Constant", {}, {"a"})->add_attribute();
  floats->set_name("value_floats");
  for (const float value : {1.0F, 2.0F, 3.0F, 4.0F}) floats->add_floats(value);
  AttributeProto* number = Add(model, "Constant", {}, {"b"})->add_attribute();
  number->set_name("value_float");
  number->set_f(0.5F);
  AttributeProto* sparse = Add(model, "Constant", {}, {"c"})->add_attribute();
  sparse->set_name("sparse_value");
  auto* tensor = sparse->mutable_sparse_tensor();
  tensor->add_dims(4);
  tensor->mutable_values()->set_data_type(kFloat);
  tensor->mutable_values()->add_dims(1);
  tensor->mutable_values()->add_float_data(9);
  tensor->mutable_indices()->set_data_type(kInt64);
  tensor->mutable_indices()->add_dims(1);
  tensor->mutable_indices()->add_int64_data(2);
  Add(model, "Sum", {"x", "a", "b", "c"}, {"y"});
  AddOutput(model, "y");
  const auto imported = ImportModel(model);
  ASSERT_TRUE(imported.ok()) << imported.status().ToString();
  std::vector<std::vector<float>> found;
  for (const Value* constant : imported->graph->constants()) {
    const auto* values = constant->constant->view.as<float>();
    found.emplace_back(values, values + constant->constant->view.elements());
  }
  EXPECT_THAT(found, testing::UnorderedElementsAre(ElementsAre(1, 2, 3, 4), ElementsAre(0.5), ElementsAre(0, 0, 9, 0)));
}

TEST(OnnxImporterTest, UnpacksFourBitIntegers) {
  ModelProto model = NewModel();
  TensorProto* tensor = model.mutable_graph()->add_initializer();
  tensor->set_name("w");
  tensor->set_data_type(22);  // INT4
  tensor->add_dims(3);
  tensor->set_raw_data("\x7f\x08", 2);  // -1, 7, -8
  AddOutput(model, "w", 22);
  const auto imported = ImportModel(model);
  ASSERT_TRUE(imported.ok()) << imported.status().ToString();
  const auto* values = imported->graph->outputs[0]->constant->view.as<int8_t>();
  EXPECT_THAT(std::vector<int>(values, values + 3), ElementsAre(-1, 7, -8));
}

TEST(OnnxImporterTest, AnInitializerThatIsListedAsAnInputIsAWeight) {
  ModelProto model = ReluModel();
  AddFloats(model, "w", {4}, 1);
  AddInput(model, "w", {"4"});
  Add(model, "Add", {"y", "w"}, {"z"});
  AddOutput(model, "z");
  const auto imported = ImportModel(model);
  ASSERT_TRUE(imported.ok()) << imported.status().ToString();
  EXPECT_EQ(imported->signature.inputs.size(), 1u);
}

// ---- Sizes ----

TEST(OnnxImporterTest, SharedNamesAreOneSymbolAndTheFirstMakesTheBatch) {
  ModelProto model = NewModel();
  AddInput(model, "x", {"N", "T", "2*half"});
  AddInput(model, "z", {"N", "?", "1"});
  Add(model, "Add", {"x", "z"}, {"y"});
  AddOutput(model, "y");
  const auto imported = ImportModel(model).value();
  EXPECT_TRUE(imported.signature.batchable);
  EXPECT_EQ(ShapeText(imported), "[N, T, 2*half]");
  EXPECT_EQ(imported.signature.symbols[0].min, 1);
  EXPECT_EQ(imported.signature.symbols[1].min, 0) << "an empty sequence is a call";
  EXPECT_EQ(imported.signature.symbols[0].max, INT64_MAX);
}

TEST(OnnxImporterTest, QuestionMarksAreDifferentSizes) {
  ModelProto model = NewModel();
  AddInput(model, "x", {"N", "?", "?"});
  for (int d : {1, 2}) model.mutable_graph()->mutable_input(0)->mutable_type()->mutable_tensor_type()->mutable_shape()->mutable_dim(d)->set_dim_param("?");
  Add(model, "Relu", {"x"}, {"y"});
  AddOutput(model, "y");
  const auto imported = ImportModel(model).value();
  EXPECT_EQ(ShapeText(imported), "[N, x_1, x_2]");
}

TEST(OnnxImporterTest, ShapeArithmeticStaysSymbolic) {
  ModelProto model = NewModel();
  AddInput(model, "x", {"N", "T", "8"});
  AddInts(model, "zero", {0});
  AddInts(model, "heads", {2});
  AddInts(model, "one", {1});
  AddInts(model, "minus", {-1});
  Add(model, "Shape", {"x"}, {"s"});
  Add(model, "Gather", {"s", "zero"}, {"n"});
  NodeProto* tail = Add(model, "Shape", {"x"}, {"t"});
  SetInt(tail, "start", 1);
  SetInt(tail, "end", 2);
  Add(model, "Mul", {"t", "heads"}, {"t2"});
  SetInt(Add(model, "Concat", {"n", "t2", "minus"}, {"to"}), "axis", 0);
  Add(model, "Reshape", {"x", "to"}, {"y"});
  AddOutput(model, "y");
  const auto imported = ImportModel(model);
  ASSERT_TRUE(imported.ok()) << imported.status().ToString();
  EXPECT_EQ(ShapeText(*imported), "[N, 2*T, 4]");
  EXPECT_EQ(imported->graph->nodes().size(), 1u) << "only the reshape is left";
}

TEST(OnnxImporterTest, AShapeMayBeAnOutput) {
  ModelProto model = NewModel();
  AddInput(model, "x", {"N", "3"});
  Add(model, "Shape", {"x"}, {"y"});
  AddOutput(model, "y", kInt64);
  const auto imported = ImportModel(model);
  ASSERT_TRUE(imported.ok()) << imported.status().ToString();
  EXPECT_EQ(ShapeText(*imported), "[2]");
  EXPECT_FALSE(imported->signature.batchable);
}

// ---- Functions and branches ----

TEST(OnnxImporterTest, WritesFunctionsOut) {
  ModelProto model = NewModel();
  onnx::FunctionProto* function = model.add_functions();
  function->set_name("Leaky");
  function->set_domain("mine");
  function->add_input("a");
  function->add_input("shift");  // the call leaves it out
  function->add_output("b");
  function->add_attribute("slope");
  function->add_opset_import()->set_version(20);
  NodeProto* inner = function->add_node();
  *inner = NewNode("LeakyRelu", {"a"}, {"b"});
  AttributeProto* alpha = inner->add_attribute();
  alpha->set_name("alpha");
  alpha->set_ref_attr_name("slope");
  AddInput(model, "x", {"N"});
  NodeProto* call = Add(model, "Leaky", {"x"}, {"y"});
  call->set_domain("mine");
  AttributeProto* slope = call->add_attribute();
  slope->set_name("slope");
  slope->set_f(0.25F);
  AddOutput(model, "y");
  const auto imported = ImportModel(model);
  ASSERT_TRUE(imported.ok()) << imported.status().ToString();
  ASSERT_EQ(imported->graph->nodes().size(), 1u);
  EXPECT_THAT(ToText(*imported->graph), AllOf(HasSubstr("leaky_relu"), HasSubstr("0.25")));
}

TEST(OnnxImporterTest, RefusesAFunctionThatCallsItself) {
  ModelProto model = NewModel();
  onnx::FunctionProto* function = model.add_functions();
  function->set_name("F");
  function->set_domain("mine");
  function->add_input("a");
  function->add_output("b");
  *function->add_node() = NewNode("F", {"a"}, {"b"});
  function->mutable_node(0)->set_domain("mine");
  AddInput(model, "x", {"N"});
  Add(model, "F", {"x"}, {"y"})->set_domain("mine");
  AddOutput(model, "y");
  EXPECT_THAT(ErrorOf(model), HasSubstr("calls itself"));
}

TEST(OnnxImporterTest, TakesTheBranchOfAKnownCondition) {
  ModelProto model = NewModel();
  AddInput(model, "x", {"N"});
  TensorProto* condition = model.mutable_graph()->add_initializer();
  condition->set_name("c");
  condition->set_data_type(kBool);
  condition->add_int32_data(0);
  NodeProto* node = Add(model, "If", {"c"}, {"y"});
  for (const std::string& branch : {std::string("then_branch"), std::string("else_branch")}) {
    AttributeProto* attribute = node->add_attribute();
    attribute->set_name(branch);
    *attribute->mutable_g()->add_node() = NewNode(branch == "then_branch" ? "Exp" : "Relu", {"x"}, {"inner"});
    attribute->mutable_g()->add_output()->set_name("inner");
  }
  AddOutput(model, "y");
  const auto imported = ImportModel(model);
  ASSERT_TRUE(imported.ok()) << imported.status().ToString();
  EXPECT_EQ(imported->graph->nodes().front()->op, "relu");
}

// ---- What is wrong, all at once ----

TEST(OnnxImporterTest, ListsAllThatIsNotSupported) {
  ModelProto model = NewModel();
  AddInput(model, "x", {"N"});
  Add(model, "Zebra", {"x"}, {"a"});
  Add(model, "Zebra", {"a"}, {"b"});
  Add(model, "Quagga", {"b"}, {"y"})->set_domain("com.example");
  AddOutput(model, "y");
  const std::string error = ErrorOf(model);
  EXPECT_THAT(error, testing::StartsWith("UNIMPLEMENTED: test.onnx: 2 things are not supported"));
  EXPECT_THAT(error, AllOf(HasSubstr("Zebra (operator set 20) (2 nodes, first: node_a)"), HasSubstr("com.example.Quagga")));
}

struct BrokenCase {
  const char* name;
  void (*damage)(ModelProto&);
  const char* message;
};

class BrokenModel : public testing::TestWithParam<BrokenCase> {};

TEST_P(BrokenModel, IsRefusedWithOneMessage) {
  ModelProto model = ReluModel();
  GetParam().damage(model);
  const auto imported = ImportModel(model);
  ASSERT_FALSE(imported.ok());
  EXPECT_THAT(imported.status().ToString(), AllOf(HasSubstr("test.onnx"), HasSubstr(GetParam().message)));
}

constexpr BrokenCase kBroken[] = {
    {"dangling", [](ModelProto& m) { Add(m, "Relu", {"nowhere"}, {"z"}); }, "uses 'nowhere', which nothing before it gives"},
    {"unsorted",
     [](ModelProto& m) {
       Add(m, "Relu", {"q"}, {"p"});
       Add(m, "Relu", {"y"}, {"q"});
     },
     "unsorted, cyclic"},
    {"cyclic",
     [](ModelProto& m) {
       Add(m, "Relu", {"q"}, {"p"});
       Add(m, "Relu", {"p"}, {"q"});
     },
     "unsorted, cyclic"},
    {"given_twice", [](ModelProto& m) { Add(m, "Relu", {"x"}, {"y"}); }, "the name 'y' is given twice"},
    {"output_twice", [](ModelProto& m) { AddOutput(m, "y"); }, "two outputs are called 'y'"},
    {"no_output", [](ModelProto& m) { m.mutable_graph()->clear_output(); }, "no outputs"},
    {"unknown_output", [](ModelProto& m) { AddOutput(m, "zz"); }, "output 'zz' is given by no node"},
    {"wrong_output_dtype", [](ModelProto& m) { m.mutable_graph()->mutable_output(0)->mutable_type()->mutable_tensor_type()->set_elem_type(kInt64); },
     "output 'y' is declared INT64, but the graph gives float32"},
    {"mixed_dtypes",
     [](ModelProto& m) {
       AddInts(m, "i", {1, 2, 3, 4});
       Add(m, "Add", {"x", "i"}, {"z"});
     },
     "operands of float32 and int64"},
    {"short_raw_data", [](ModelProto& m) { AddFloats(m, "w", {4}, 1)->set_raw_data("123"); }, "FLOAT [4] needs 16 bytes, found 3"},
    {"short_data",
     [](ModelProto& m) {
       AddInts(m, "w", {1, 2});
       m.mutable_graph()->mutable_initializer(0)->set_dims(0, 3);
     },
     "INT64 [3] has 3 elements, found 2"},
    {"negative_size", [](ModelProto& m) { AddFloats(m, "w", {4}, 1)->set_dims(0, -4); }, "negative or too large"},
    {"huge_size", [](ModelProto& m) { AddFloats(m, "w", {4}, 1)->set_dims(0, INT64_MAX / 2); }, "negative or too large"},
    {"string_weight", [](ModelProto& m) { AddFloats(m, "w", {4}, 1)->set_data_type(8); }, "dtype STRING"},
    {"old_opset", [](ModelProto& m) { m.mutable_opset_import(0)->set_version(6); }, "operator set 6"},
    {"future_opset", [](ModelProto& m) { m.mutable_opset_import(0)->set_version(999); }, "operator set 999"},
    {"no_rank", [](ModelProto& m) { m.mutable_graph()->mutable_input(0)->mutable_type()->mutable_tensor_type()->clear_shape(); }, "without a shape"},
    {"too_many_inputs", [](ModelProto& m) { Add(m, "Relu", {"x", "x"}, {"z"}); }, "2 inputs, expected 1 to 1"},
    {"missing_input", [](ModelProto& m) { Add(m, "Add", {"", "x"}, {"z"}); }, "input 0 is missing"},
    {"axis",
     [](ModelProto& m) { SetInt(Add(m, "Softmax", {"x"}, {"z"}), "axis", 7); },
     "dim 7 is out of range"},
    {"data_dependent",
     [](ModelProto& m) {
       AddInput(m, "to", {"2"}, kInt64);
       Add(m, "Reshape", {"x", "to"}, {"z"});
     },
     "a shape that depends on data"},
};

INSTANTIATE_TEST_SUITE_P(Cases, BrokenModel, testing::ValuesIn(kBroken), [](const auto& info) { return info.param.name; });

// ---- Payloads ----

TEST(PayloadsTest, CutsRawDataOutAndRemembersItsPlace) {
  ModelProto model = NewModel();
  AddFloats(model, "w", {100}, 3);
  const std::string bytes = model.SerializeAsString();
  ModelProto cut;
  const std::string text = onnx_format::WithoutPayloads(MemorySource("x", bytes)).value();
  EXPECT_LT(text.size(), 200u);
  ASSERT_TRUE(cut.ParseFromString(text));
  const TensorProto& tensor = cut.graph().initializer(0);
  EXPECT_EQ(tensor.raw_length(), 400u);
  float first = 0;
  std::memcpy(&first, bytes.data() + tensor.raw_offset(), sizeof(first));
  EXPECT_EQ(first, 3);
}

TEST(PayloadsTest, AFileCannotNameAPlaceItself) {
  ModelProto model = NewModel();
  TensorProto* tensor = AddFloats(model, "w", {100}, 3);
  tensor->clear_raw_data();
  tensor->set_raw_offset(1 << 30);
  tensor->set_raw_length(400);
  AddOutput(model, "w");
  EXPECT_THAT(ErrorOf(model), HasSubstr("has 100 elements, found 0"));
}

TEST(PayloadsTest, RefusesDeepNesting) {
  ModelProto model = NewModel();
  GraphProto* graph = model.mutable_graph();
  for (int i = 0; i < 60; ++i) {
    NodeProto* node = graph->add_node();
    node->set_op_type("If");
    AttributeProto* attribute = node->add_attribute();
    attribute->set_name("then_branch");
    graph = attribute->mutable_g();
  }
  EXPECT_THAT(ErrorOf(model), HasSubstr("nest deeper than"));
}

}  // namespace
}  // namespace tondar
