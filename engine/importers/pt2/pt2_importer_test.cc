#include "engine/importers/pt2/pt2_importer.h"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <chrono>
#include <deque>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>
#include <random>
#include <sstream>

#include "engine/archive/npz.h"
#include "engine/archive/zip_writer.h"
#include "engine/base/file_source.h"
#include "engine/base/testing/faulty_source.h"

namespace tondar {
namespace {

using nlohmann::json;
using testing::ElementsAre;
using testing::HasSubstr;

const std::string kFixtures = TONDAR_SOURCE_DIR "/tests/fixtures/";

std::string ReadFile(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  std::stringstream text;
  text << file.rdbuf();
  return text.str();
}

Result<ImportedModel> ImportFixture(const std::string& path) {
  const auto file = FileSource::Open(kFixtures + path);
  if (!file.ok()) return file.status();
  return kPt2Importer.import(**file);
}

Result<ImportedModel> ImportBytes(const std::string& bytes) {
  return kPt2Importer.import(MemorySource("test.pt2", bytes));
}

// Every real archive below tests/fixtures.
std::vector<std::string> AllArchives() {
  std::vector<std::string> paths;
  for (const auto& entry : std::filesystem::recursive_directory_iterator(kFixtures)) {
    if (entry.path().extension() == ".pt2") paths.push_back(entry.path().string().substr(kFixtures.size()));
  }
  std::sort(paths.begin(), paths.end());
  return paths;
}

// ---- Real files ----

class RealArchiveTest : public testing::TestWithParam<std::string> {};

TEST_P(RealArchiveTest, IsRecognised) {
  const std::string bytes = ReadFile(kFixtures + GetParam());
  EXPECT_TRUE(kPt2Importer.matches(MemorySource("x", bytes)));
}

TEST_P(RealArchiveTest, BecomesAVerifiedGraphWithTheNamesOfItsInputs) {
  const auto model = ImportFixture(GetParam());
  ASSERT_TRUE(model.ok()) << model.status().ToString();
  EXPECT_TRUE(VerifyGraph(*model->graph).ok());
  EXPECT_EQ(model->platform, "pt2");
  EXPECT_THAT(model->producer, testing::StartsWith("torch 2."));
  const std::string folder = kFixtures + std::filesystem::path(GetParam()).parent_path().string();
  const json meta = json::parse(ReadFile(folder + "/meta.json"));
  const Signature& signature = model->signature;
  ASSERT_EQ(signature.inputs.size(), model->graph->user_inputs());
  ASSERT_EQ(signature.outputs.size(), model->graph->user_outputs());
  EXPECT_EQ(signature.states.size(), model->graph->states.size());
  EXPECT_EQ(!signature.states.empty(), meta["stateful"].get<bool>());

  std::vector<std::string> tensors, constants, found;
  for (const json& input : meta["sets"][0]["inputs"]) {
    const bool is_number = signature.FindInput(input["key"].get<std::string>()) >= 0;  // that the program computes with
    if (input["kind"] == "tensor" || is_number) tensors.push_back(input["key"]);
    if (input["kind"] != "tensor" && input["kind"] != "none" && !is_number) constants.push_back(input["key"]);
  }
  for (const TensorSpec& input : signature.inputs) found.push_back(input.name);
  EXPECT_EQ(found, tensors);
  found.clear();
  for (const ConstantSpec& constant : signature.constants) found.push_back(constant.name);
  EXPECT_EQ(found, constants);

  // Every input set fits the signature, and gives the outputs' shapes.
  for (const json& set : meta["sets"]) {
    std::vector<Dims> shapes;
    for (const json& input : set["inputs"]) {
      const int place = signature.FindInput(input["key"].get<std::string>());
      if (input["kind"] == "tensor") shapes.emplace_back(std::span<const int64_t>(input["shape"].get<std::vector<int64_t>>()));
      else if (place >= 0) shapes.emplace_back();
    }
    const auto symbols = SolveSymbols(signature, shapes);
    ASSERT_TRUE(symbols.ok()) << symbols.status().ToString();
    size_t next = 0;
    for (const json& output : set["outputs"]) {
      if (output["kind"] == "none") continue;
      ASSERT_LT(next, signature.outputs.size());
      const TensorSpec& spec = signature.outputs[next++];
      if (output["kind"] != "tensor") continue;
      const Dims shape(std::span<const int64_t>(output["shape"].get<std::vector<int64_t>>()));
      EXPECT_EQ(spec.shape.size(), shape.rank()) << spec.name;
      if (!signature.has_data_sizes) EXPECT_EQ(Evaluate(spec.shape, *symbols), shape) << spec.name;
      EXPECT_EQ(Name(spec.dtype), output["dtype"].get<std::string>()) << spec.name;
    }
    EXPECT_EQ(next, signature.outputs.size());
    for (const ShapeCheck& check : model->graph->checks) {
      if (signature.has_data_sizes) continue;
      EXPECT_EQ(check.left.Evaluate(*symbols), check.right.Evaluate(*symbols)) << check.where;
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Fixtures, RealArchiveTest, testing::ValuesIn(AllArchives()), [](const auto& info) {
  std::string name = info.param;
  for (char& c : name) {
    if (!std::isalnum(static_cast<unsigned char>(c))) c = '_';
  }
  return name;
});

TEST(Pt2ImporterTest, ReadsBatchingFromTheSymbols) {
  const auto model = ImportFixture("mlp/model.pt2");
  ASSERT_TRUE(model.ok()) << model.status().ToString();
  EXPECT_TRUE(model->signature.batchable);
  const SymbolInfo& batch = model->signature.symbols[static_cast<size_t>(model->signature.batch_symbol)];
  EXPECT_EQ(batch.max, 1024) << batch.name;
  EXPECT_EQ(model->source_operators.at("aten.linear.default"), 3);
}

TEST(Pt2ImporterTest, NamesNestedOutputsAndConstants) {
  const auto model = ImportFixture("multi_io/model.pt2");
  ASSERT_TRUE(model.ok()) << model.status().ToString();
  std::vector<std::string> names;
  for (const TensorSpec& output : model->signature.outputs) names.push_back(output.name);
  EXPECT_THAT(names, ElementsAre("output_0.y", "output_0.list.0", "output_0.list.1", "output_0.nested.z",
                                 "output_0.nested.tup.0", "output_0.nested.tup.1", "output_0.extra", "output_1"));
  EXPECT_EQ(model->graph->outputs.back(), model->graph->inputs.front()) << "an input that is passed through";
  const Value* three = model->graph->outputs[5];
  ASSERT_TRUE(three->IsConstant());
  EXPECT_EQ(three->dtype, DType::kInt64);
  EXPECT_EQ(*three->constant->view.as<int64_t>(), 3);
  ASSERT_EQ(model->signature.constants.size(), 3u) << "None is nothing to compare with";
  EXPECT_EQ(std::get<int64_t>(model->signature.constants[0].value), 3);
  EXPECT_EQ(std::get<double>(model->signature.constants[1].value), 0.5);
  EXPECT_EQ(std::get<bool>(model->signature.constants[2].value), true);
}

TEST(Pt2ImporterTest, ViewsOfOneStorageShareItAndKeepItAlive) {
  const auto model = ImportFixture("shared_weights/model.pt2");  // the file is closed again
  ASSERT_TRUE(model.ok()) << model.status().ToString();
  std::map<std::string, const Value*> constants;
  for (const Value* value : model->graph->constants()) constants[value->constant->name] = value;
  ASSERT_TRUE(constants.contains("left") && constants.contains("right"));
  EXPECT_EQ(constants["right"]->constant->view.data - constants["left"]->constant->view.data, 8 * 4)
      << "views of one storage share it";
}

TEST(Pt2ImporterTest, SurvivesEveryReadThatFails) {
  const std::string bytes = ReadFile(kFixtures + "mlp/model.pt2");
  const MemorySource memory("test.pt2", bytes);
  for (size_t good = 0;; ++good) {
    const FaultySource source(memory, good);
    const auto model = kPt2Importer.import(source);
    if (!source.failed()) {
      EXPECT_TRUE(model.ok()) << model.status().ToString();
      EXPECT_GT(good, 20u) << "headers, texts and weights are read one by one";
      return;
    }
    ASSERT_FALSE(model.ok()) << good;
    EXPECT_THAT(model.status().ToString(), HasSubstr("read on purpose")) << good;
  }
}

TEST(Pt2ImporterTest, RefusesWeightsThatFailTheirChecksum) {
  std::string bytes = ReadFile(kFixtures + "mlp/model.pt2");
  const MemorySource good("mlp.pt2", bytes);
  const uint64_t at = ZipReader::Open(good)->Find("model/data/weights/weight_0")->offset;
  bytes[at] ^= 1;
  const auto model = kPt2Importer.import(MemorySource("mlp.pt2", bytes));
  EXPECT_EQ(model.status().code(), StatusCode::kInvalidArgument);
  EXPECT_THAT(model.status().ToString(), HasSubstr("record 'model/data/weights/weight_0': the checksum is wrong"));
}

// ---- Programs made by hand: a small archive whose JSON the test writes ----

json Int(int64_t value) { return {{"as_int", value}}; }
json TensorArgument(const std::string& name) { return {{"as_tensor", {{"name", name}}}}; }
json Symbol(const std::string& name) {
  return {{"as_expr", {{"expr_str", "Symbol('" + name + "', positive=True, integer=True)"}, {"hint", nullptr}}}};
}
json Meta(std::vector<json> sizes, int dtype = 7) {
  std::vector<json> strides(sizes.size(), Int(1));
  return {{"dtype", dtype}, {"sizes", sizes}, {"strides", strides}, {"storage_offset", Int(0)}, {"layout", 7},
          {"requires_grad", false}, {"device", {{"type", "cpu"}, {"index", nullptr}}}};
}
json Node(const std::string& target, const std::vector<std::pair<std::string, json>>& inputs,
          const std::vector<json>& outputs) {
  json arguments = json::array();
  for (const auto& [name, argument] : inputs) arguments.push_back({{"name", name}, {"arg", argument}, {"kind", 1}});
  return {{"target", "torch.ops." + target}, {"inputs", arguments}, {"outputs", outputs}, {"metadata", json::object()}};
}

struct Source {
  json program;
  std::map<std::string, std::string> records;  // more of them, or others

  json& graph() { return program["graph_module"]["graph"]; }
  json& signature() { return program["graph_module"]["signature"]; }
  void Add(const json& node, const json& meta) {
    graph()["nodes"].push_back(node);
    graph()["tensor_values"][node["outputs"][0]["as_tensor"]["name"].get<std::string>()] = meta;
  }
  void Return(const std::string& name) {
    graph()["outputs"] = {TensorArgument(name)};
    signature()["output_specs"] = {{{"user_output", {{"arg", TensorArgument(name)}}}}};
  }
  std::string Archive() const {
    std::string bytes;
    ZipWriter writer = ZipWriter::ToMemory(&bytes);
    std::map<std::string, std::string> all = {{"models/model.json", program.dump()},
                                              {"data/weights/model_weights_config.json", R"({"config": {}})"},
                                              {"archive_format", "pt2"},
                                              {"byteorder", "little"}};
    for (const auto& [name, content] : records) all[name] = content;
    for (const auto& [name, content] : all) EXPECT_TRUE(writer.Add("m/" + name, content, 64).ok());
    EXPECT_TRUE(writer.Close().ok());
    return bytes;
  }
};

// One input x: float32 [s0, 4], returned as it is until a test says otherwise.
Source SmallProgram() {
  constexpr const char* kLeaf = R"({"type": null, "context": null, "children_spec": []})";
  constexpr const char* kTuple = R"({{"type": "builtins.tuple", "context": "null", "children_spec": [{}]}})";
  const std::string empty_dict = R"({"type": "builtins.dict", "context": "[]", "children_spec": []})";
  const std::string in_spec = fmt::format(
      "[1, {}]", fmt::format(fmt::runtime(kTuple), fmt::format(fmt::runtime(kTuple), kLeaf) + ", " + empty_dict));
  Source source;
  source.program = {
      {"graph_module",
       {{"graph",
         {{"inputs", {TensorArgument("x")}},
          {"outputs", json::array()},
          {"nodes", json::array()},
          {"tensor_values", {{"x", Meta({Symbol("s0"), Int(4)})}}},
          {"sym_int_values", json::object()}}},
        {"signature", {{"input_specs", {{{"user_input", {{"arg", TensorArgument("x")}}}}}}, {"output_specs", json::array()}}},
        {"module_call_graph",
         {{{"fqn", ""},
           {"signature",
            {{"in_spec", in_spec}, {"out_spec", fmt::format("[1, {}]", kLeaf)}, {"forward_arg_names", {"x"}}}}}}}}},
      {"range_constraints", {{"s0", {{"min_val", 3}, {"max_val", 64}}}}},
      {"schema_version", {{"major", 8}, {"minor", 14}}},
      {"torch_version", "2.9.1"}};
  source.Return("x");
  return source;
}

std::string ErrorOf(const Source& source) {
  const auto model = ImportBytes(source.Archive());
  return model.ok() ? "OK" : model.status().ToString();
}

TEST(Pt2ProgramTest, ReadsASmallProgram) {
  const auto model = ImportBytes(SmallProgram().Archive());
  ASSERT_TRUE(model.ok()) << model.status().ToString();
  EXPECT_EQ(model->signature.inputs[0].name, "x");
  EXPECT_EQ(model->signature.outputs[0].name, "output_0");
  EXPECT_EQ(ToString(model->signature.inputs[0].shape, model->signature.symbols), "[s0, 4]");
  EXPECT_EQ(model->signature.symbols[0].min, 3);
  EXPECT_EQ(model->signature.symbols[0].max, 64);
}

// As torch's own exported modules do.
TEST(Pt2ProgramTest, AcceptsOneRowWhereTheTracerAssumedTwo) {
  for (const int64_t written : {0, 1, 2}) {
    Source source = SmallProgram();
    source.program["range_constraints"]["s0"]["min_val"] = written;
    const auto model = ImportBytes(source.Archive());
    ASSERT_TRUE(model.ok()) << model.status().ToString();
    EXPECT_EQ(model->signature.symbols[0].min, 0) << written;
  }
}

TEST(Pt2ProgramTest, SaysConditionsInTheWordsOfThoseWhoSendInputs) {
  Source source = SmallProgram();
  source.program["guards_code"] = {"L['x'].size()[0] % 2 == 0"};
  const auto model = ImportBytes(source.Archive());
  ASSERT_TRUE(model.ok()) << model.status().ToString();
  ASSERT_EQ(model->graph->checks.size(), 1u);
  EXPECT_EQ(model->graph->checks[0].condition, "x.shape[0] % 2 == 0");
}

TEST(Pt2ProgramTest, ListsEverythingThatIsNotSupported) {
  Source source = SmallProgram();
  json first = Node("aten.foo.default", {{"self", TensorArgument("x")}}, {TensorArgument("foo")});
  first["metadata"]["stack_trace"] = "  File \"/home/a/net.py\", line 12, in forward\n    return foo(x)\n";
  source.Add(first, Meta({Symbol("s0"), Int(4)}));
  source.Add(Node("aten.foo.default", {{"self", TensorArgument("foo")}}, {TensorArgument("foo_1")}),
             Meta({Symbol("s0"), Int(4)}));
  source.Add(Node("higher_order.flex_attention", {{"", TensorArgument("foo_1")}}, {TensorArgument("cond")}),
             Meta({Symbol("s0"), Int(4)}));
  source.Return("cond");
  EXPECT_EQ(ErrorOf(source),
            "UNIMPLEMENTED: test.pt2: 2 things are not supported: operator aten.foo.default (2 nodes, first: foo, "
            "net.py:12: return foo(x)); higher-order operator flex_attention (node cond)");
}

TEST(Pt2ProgramTest, ComputesSymbolicNumbersAtImport) {
  Source source = SmallProgram();
  auto number = [](const std::string& name) { return json{{"as_sym_int", {{"as_name", name}}}}; };
  source.graph()["nodes"].push_back(Node("aten.sym_size.int", {{"self", TensorArgument("x")}, {"dim", Int(0)}}, {number("n")}));
  json multiply = Node("", {{"a", number("n")}, {"b", Int(4)}}, {number("m")});
  multiply["target"] = "_operator.mul";
  source.graph()["nodes"].push_back(multiply);
  const json size = {{"as_sym_ints", {{{"as_name", "m"}}}}};
  const json flat = {{"as_expr", {{"expr_str", "Mul(Integer(4), Symbol('s0', positive=True, integer=True))"}}}};
  source.Add(Node("aten.view.default", {{"self", TensorArgument("x")}, {"size", size}}, {TensorArgument("view")}), Meta({flat}));
  source.Return("view");
  const auto model = ImportBytes(source.Archive());
  ASSERT_TRUE(model.ok()) << model.status().ToString();
  EXPECT_EQ(ToString(model->signature.outputs[0].shape, model->signature.symbols), "[4*s0]");
  EXPECT_EQ(model->graph->nodes().size(), 1u) << "numbers are no nodes";
}

TEST(Pt2ProgramTest, NamesTheResultsOfTheExporterThatDisagree) {
  Source source = SmallProgram();
  source.Add(Node("aten.permute.default", {{"self", TensorArgument("x")}, {"dims", {{"as_ints", {1, 0}}}}}, {TensorArgument("p")}),
             Meta({Int(5), Symbol("s0")}));
  source.Return("p");
  EXPECT_THAT(ErrorOf(source), HasSubstr("node 'p' (aten.permute.default) makes float32 [4, s0], but the file says "
                                         "float32 [5, s0]"));
}

TEST(Pt2ProgramTest, KeepsBuffersThatItWritesAsState) {
  Source source = SmallProgram();
  source.records["data/weights/model_weights_config.json"] =
      json{{"config", {{"count", {{"path_name", "weight_0"}, {"is_param", false}, {"use_pickle", false}, {"tensor_meta", Meta({Int(1), Int(4)})}}}}}}.dump();
  source.records["data/weights/weight_0"] = std::string(16, '\0');
  source.graph()["inputs"] = {TensorArgument("b_count"), TensorArgument("x")};
  source.graph()["tensor_values"]["b_count"] = Meta({Int(1), Int(4)});
  source.signature()["input_specs"] = {
      {{"buffer", {{"arg", {{"name", "b_count"}}}, {"buffer_name", "count"}, {"persistent", true}}}},
      {{"user_input", {{"arg", TensorArgument("x")}}}}};
  source.graph()["outputs"] = {TensorArgument("b_count"), TensorArgument("x")};
  source.signature()["output_specs"] = {
      {{"buffer_mutation", {{"arg", {{"name", "b_count"}}}, {"buffer_name", "count"}}}},
      {{"user_output", {{"arg", TensorArgument("x")}}}}};
  const auto model = ImportBytes(source.Archive());
  ASSERT_TRUE(model.ok()) << model.status().ToString();
  ASSERT_EQ(model->signature.states.size(), 1u);
  EXPECT_EQ(model->signature.states[0].name, "count");
  EXPECT_FALSE(model->signature.batchable);
  EXPECT_EQ(ToString(model->graph->states[0].initial.view.shape), "[1, 4]");
  EXPECT_EQ(model->graph->user_inputs(), 1u);
  source.records["data/weights/weight_0"].resize(12);
  EXPECT_THAT(ErrorOf(source), HasSubstr("tensor 'count': float32 [1, 4] with strides [1, 1] at 0 does not fit the 12 bytes"));
  source.records.erase("data/weights/weight_0");
  EXPECT_THAT(ErrorOf(source), HasSubstr("record 'data/weights/weight_0' is missing"));
}

TEST(Pt2ProgramTest, RefusesPickledWeightsOnlyWhereTheyAreUsed) {
  Source source = SmallProgram();
  source.records["data/weights/model_weights_config.json"] =
      json{{"config", {{"w", {{"path_name", "weight_0"}, {"is_param", true}, {"use_pickle", true}, {"tensor_meta", Meta({Int(2)})}}}}}}.dump();
  source.records["data/weights/weight_0"] = "PK";
  source.graph()["inputs"] = {TensorArgument("p_w"), TensorArgument("x")};
  source.signature()["input_specs"] = {{{"parameter", {{"arg", {{"name", "p_w"}}}, {"parameter_name", "w"}}}},
                                       {{"user_input", {{"arg", TensorArgument("x")}}}}};
  EXPECT_EQ(ErrorOf(source), "OK");
  source.Return("p_w");
  EXPECT_THAT(ErrorOf(source), HasSubstr("pickled tensor subclass 'w'"));
}

// ---- Writes in place ----

std::vector<std::string> OpsOf(const Graph& graph) {
  std::vector<std::string> ops;
  for (const auto& node : graph.nodes()) ops.push_back(node->op);
  return ops;
}

json AddOne(const std::string& target, const std::string& self, const std::string& result) {
  return Node(target, {{"self", TensorArgument(self)}, {"other", Int(1)}}, {TensorArgument(result)});
}
const json kRows = {Symbol("s0"), Int(4)};

TEST(Pt2WriteTest, RenamesWhatAWriteOverwrote) {
  Source source = SmallProgram();
  source.Add(AddOne("aten.add.Tensor", "x", "y"), Meta(kRows));
  source.Add(AddOne("aten.mul_.Tensor", "y", "mul_"), Meta(kRows));
  source.Add(AddOne("aten.sub.Tensor", "y", "z"), Meta(kRows));  // reads y after the write
  source.Return("z");
  const auto model = ImportBytes(source.Archive());
  ASSERT_TRUE(model.ok()) << model.status().ToString();
  EXPECT_THAT(OpsOf(*model->graph), ElementsAre("add", "mul", "sub"));
  EXPECT_EQ(model->graph->outputs[0]->producer->inputs[0]->producer->op, "mul");
}

TEST(Pt2WriteTest, KeepsTheDTypeOfWhatIsOverwritten) {
  Source source = SmallProgram();
  source.graph()["tensor_values"]["x"] = Meta(kRows, 6);
  source.Add(AddOne("aten.add.Tensor", "x", "y"), Meta(kRows, 6));
  const json wide = {{"as_float", 1.5}};
  source.Add(Node("aten.to.dtype", {{"self", TensorArgument("y")}, {"dtype", {{"as_scalar_type", 7}}}}, {TensorArgument("w")}), Meta(kRows));
  source.Add(Node("aten.add_.Tensor", {{"self", TensorArgument("y")}, {"other", TensorArgument("w")}}, {TensorArgument("add_")}), Meta(kRows, 6));
  source.Return("add_");
  const auto model = ImportBytes(source.Archive());
  ASSERT_TRUE(model.ok()) << model.status().ToString();
  EXPECT_EQ(model->signature.outputs[0].dtype, DType::kFloat16);
}

TEST(Pt2WriteTest, WritesThroughViews) {
  Source source = SmallProgram();
  source.Add(AddOne("aten.add.Tensor", "x", "y"), Meta(kRows));
  source.Add(Node("aten.permute.default", {{"self", TensorArgument("y")}, {"dims", {{"as_ints", {1, 0}}}}}, {TensorArgument("p")}),
             Meta({Int(4), Symbol("s0")}));
  source.Add(Node("aten.unsqueeze.default", {{"self", TensorArgument("y")}, {"dim", Int(0)}}, {TensorArgument("u")}),
             Meta({Int(1), Symbol("s0"), Int(4)}));
  source.Add(AddOne("aten.mul_.Tensor", "p", "mul_"), Meta({Int(4), Symbol("s0")}));
  source.Return("u");  // a sister of the written view: made anew over the new y
  const auto model = ImportBytes(source.Archive());
  ASSERT_TRUE(model.ok()) << model.status().ToString();
  const Graph& graph = *model->graph;
  const class Node* last = graph.outputs[0]->producer;
  EXPECT_EQ(last->op, "unsqueeze");
  ASSERT_EQ(last->inputs[0]->producer->op, "permute") << "the write went back through the view: " << ToText(graph);
  EXPECT_EQ(last->inputs[0]->producer->inputs[0]->producer->op, "mul");
}

TEST(Pt2WriteTest, RefusesToGuessWhetherAReshapeShares) {
  const json flat = {{"as_expr", {{"expr_str", "Mul(Integer(4), Symbol('s0', positive=True, integer=True))"}}}};
  Source source = SmallProgram();
  source.Add(AddOne("aten.add.Tensor", "x", "y"), Meta(kRows));
  source.Add(Node("aten.reshape.default", {{"self", TensorArgument("y")}, {"shape", {{"as_ints", {-1}}}}}, {TensorArgument("r")}), Meta({flat}));
  source.Add(AddOne("aten.mul_.Tensor", "r", "mul_"), Meta({flat}));
  source.Return("mul_");
  EXPECT_EQ(ErrorOf(source), "OK") << "nobody reads y any more";
  source.Return("y");
  EXPECT_THAT(ErrorOf(source), HasSubstr("reading a tensor that 'mul_' may have overwritten through aten.reshape.default"));
}

TEST(Pt2WriteTest, LetsInputsBeOverwritten) {
  Source source = SmallProgram();
  source.Add(AddOne("aten.add_.Tensor", "x", "add_"), Meta(kRows));
  const auto model = ImportBytes(source.Archive());  // returns x
  ASSERT_TRUE(model.ok()) << model.status().ToString();
  EXPECT_EQ(model->graph->outputs[0]->producer->op, "add") << "the input as it is after the write";
}

// A change to the good program, and what the message must say.
TEST(Pt2ProgramTest, SaysWhatIsBrokenAndWhere) {
  struct Case {
    const char* name;
    std::function<void(Source&)> apply;
    const char* message;
  };
  const Case kCases[] = {
      {"no json", [](Source& s) { s.records["models/model.json"] = "{"; }, "models/model.json: no JSON"},
      {"deep", [](Source& s) { s.records["models/model.json"] = std::string(100000, '['); }, "nested 100000 deep"},
      {"empty", [](Source& s) { s.program = json::object(); }, "models/model.json: the document: has no 'graph_module'"},
      {"array", [](Source& s) { s.program = json::array(); }, "expected an object, found array"},
      {"nodes", [](Source& s) { s.graph()["nodes"] = 3; }, "graph_module.graph.nodes: expected an array, found number"},
      {"tag", [](Source& s) { s.graph()["outputs"] = {{{"as_thing", 1}}}; }, "graph_module.graph.outputs[0]: 'as_thing' is no kind"},
      {"two tags", [](Source& s) { s.graph()["outputs"] = {{{"as_int", 1}, {"as_none", true}}}; }, "an object of one member"},
      {"size", [](Source& s) { s.graph()["tensor_values"]["x"]["sizes"][1]["as_int"] = "4"; },
       "graph_module.graph.tensor_values.x.sizes[1].as_int: expected an integer, found string"},
      {"huge", [](Source& s) { s.graph()["tensor_values"]["x"]["sizes"][1]["as_int"] = UINT64_MAX; }, "does not fit 64 bits"},
      {"negative", [](Source& s) { s.graph()["tensor_values"]["x"]["sizes"][1] = Int(-4); }, "no integer expression"},
      {"expression", [](Source& s) { s.graph()["tensor_values"]["x"]["sizes"][0]["as_expr"]["expr_str"] = "s0+"; }, "'s0+' is no expression"},
      {"strides", [](Source& s) { s.graph()["tensor_values"]["x"]["strides"].clear(); }, "2 sizes but 0 strides"},
      {"range", [](Source& s) { s.program["range_constraints"]["s0"]["max_val"] = 1; }, "the range 3 to 1 of 's0' is empty"},
      {"unknown tensor", [](Source& s) { s.Return("y"); }, "uses the unknown tensor 'y'"},
      {"more inputs", [](Source& s) { s.graph()["inputs"].push_back(TensorArgument("x")); }, "2 inputs, its signature 1"},
      {"more outputs", [](Source& s) { s.graph()["outputs"].push_back(TensorArgument("x")); }, "2 outputs, its signature 1"},
      {"tree", [](Source& s) { s.program["graph_module"]["module_call_graph"][0]["signature"]["out_spec"] = "[1"; }, "no JSON"},
      {"leaves", [](Source& s) {
         s.program["graph_module"]["module_call_graph"][0]["signature"]["out_spec"] =
             R"([1, {"type": "builtins.tuple", "context": "null", "children_spec": []}])";
       }, "1 outputs, its tree specification 0"},
      {"schema", [](Source& s) { s.program["schema_version"]["major"] = 9; }, "schema version 9"},
      {"format", [](Source& s) { s.records["archive_format"] = "pt3"; }, "archive_format is 'pt3'"},
      {"byte order", [](Source& s) { s.records["byteorder"] = "big"; }, "byteorder is 'big'"},
      {"two programs", [](Source& s) { s.records["models/a.json"] = "{}", s.records["models/b.json"] = "{}"; }, "OK"},
  };
  for (const Case& test : kCases) {
    Source source = SmallProgram();
    test.apply(source);
    EXPECT_THAT(ErrorOf(source), HasSubstr(test.message)) << test.name;
  }
}

// ---- Hostile files ----

constexpr auto kMaxTime = std::chrono::seconds(1);

void MustSurvive(const std::string& bytes, const std::string& what) {
  const auto begin = std::chrono::steady_clock::now();
  const auto model = ImportBytes(bytes);
  EXPECT_LT(std::chrono::steady_clock::now() - begin, kMaxTime) << what;
  if (model.ok()) {
    EXPECT_TRUE(VerifyGraph(*model->graph).ok()) << what;
  }
}

TEST(HostileArchiveTest, SurvivesDamagedBytes) {
  const std::string good = ReadFile(kFixtures + "mlp/model.pt2");
  std::mt19937 random(1);
  for (int round = 0; round < 1000; ++round) {
    std::string bytes = good;
    switch (round % 4) {
      case 0: bytes.resize(random() % bytes.size()); break;
      case 1: {  // in the directory
        const size_t tail = 1500;
        bytes[bytes.size() - 1 - random() % tail] = static_cast<char>(random());
        break;
      }
      case 2: {  // two words change places
        const size_t a = random() % (bytes.size() - 4), b = random() % (bytes.size() - 4);
        for (size_t i = 0; i < 4; ++i) std::swap(bytes[a + i], bytes[b + i]);
        break;
      }
      default:
        for (int flips = 0; flips < 8; ++flips) bytes[random() % bytes.size()] ^= static_cast<char>(1 << random() % 8);
    }
    MustSurvive(bytes, fmt::format("round {}", round));
  }
}

// The records of an archive, written again after one of its JSON texts was changed: checksums do not protect it.
std::string WithText(const ZipReader& zip, const std::string& name, const std::string& text) {
  std::string bytes;
  ZipWriter writer = ZipWriter::ToMemory(&bytes);
  std::deque<OwnedBytes> contents;
  for (const ZipRecord& record : zip.records()) {
    const std::span<const std::byte> content =
        record.name == name ? std::as_bytes(std::span(text)) : contents.emplace_back(*zip.Read(record)).bytes;
    EXPECT_TRUE(writer.Add(record.name, {&content, 1}, 64).ok());
  }
  EXPECT_TRUE(writer.Close().ok());
  return bytes;
}

// Changes one value somewhere in the document to another one of any type, or removes it.
void Mutate(json& document, std::mt19937& random) {
  json* at = &document;
  while (at->is_structured() && !at->empty() && random() % 12 != 0) {
    auto it = at->begin();
    std::advance(it, static_cast<long>(random() % at->size()));
    at = &*it;
  }
  static const json kValues[] = {nullptr, true, 0, -1, 7, 1.5, 99, INT64_MAX, INT64_MIN, "", "x", "Infinity", "linear",
                                 "Symbol('s0')", "FloorDiv(Symbol('s1'), Integer(0))", json::array(), json::object(),
                                 {{"as_int", -5}}, {{"as_int", INT64_MAX}}, {{"as_none", true}}, {{"as_ints", {1, 2, 3, 4, 5, 6, 7, 8, 9}}},
                                 {{"as_tensors", json::array()}}, {{"as_tensor", {{"name", "linear"}}}}};
  if (at->is_number_integer() && random() % 2 == 0) {
    *at = static_cast<int64_t>(at->get<uint64_t>() + random() % 5 - 2);  // wraps at the ends
  } else {
    *at = kValues[random() % std::size(kValues)];
  }
}

TEST(HostileArchiveTest, SurvivesChangedJson) {
  const std::string good = ReadFile(kFixtures + "mlp/model.pt2");
  const MemorySource source("mlp", good);
  const auto zip = ZipReader::Open(source);
  ASSERT_TRUE(zip.ok());
  std::mt19937 random(2);
  for (int round = 0; round < 1000; ++round) {
    const std::string name =
        round % 3 == 0 ? "model/data/weights/model_weights_config.json" : "model/models/model.json";
    const OwnedBytes text = *zip->Read(*zip->Find(name));
    json document = json::parse(std::string(reinterpret_cast<const char*>(text.bytes.data()), text.bytes.size()));
    for (int changes = 0; changes < 1 + round % 3; ++changes) Mutate(document, random);
    MustSurvive(WithText(*zip, name, document.dump()), fmt::format("round {}", round));
  }
}

}  // namespace
}  // namespace tondar
