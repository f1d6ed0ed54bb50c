#include "engine/importers/pt2/program_reader.h"

#include <algorithm>
#include <span>
#include <tuple>
#include <unordered_map>
#include <utility>

#include "engine/importers/pt2/json_view.h"

namespace tondar::pt2 {
namespace {

using Kind = Argument::Kind;

// torch/_export/serde/schema.py, ScalarType: not the numbering of c10.
struct ScalarTypeRow {
  int64_t code;
  std::string_view name;
  DType dtype;
};
constexpr ScalarTypeRow kScalarTypes[] = {
    {1, "uint8", DType::kUInt8},
    {2, "int8", DType::kInt8},
    {3, "int16", DType::kInt16},
    {4, "int32", DType::kInt32},
    {5, "int64", DType::kInt64},
    {6, "float16", DType::kFloat16},
    {7, "float32", DType::kFloat32},
    {8, "float64", DType::kFloat64},
    {9, "complex32", DType::kInvalid},
    {10, "complex64", DType::kComplex64},
    {11, "complex128", DType::kComplex128},
    {12, "bool", DType::kBool},
    {13, "bfloat16", DType::kBFloat16},
    {28, "uint16", DType::kUInt16},
    {29, "float8_e4m3fn", DType::kFloat8E4M3FN},
    {30, "float8_e5m2", DType::kFloat8E5M2},
    {31, "float8_e4m3fnuz", DType::kFloat8E4M3FNUZ},
    {32, "float8_e5m2fnuz", DType::kFloat8E5M2FNUZ},
    {33, "float8_e8m0fnu", DType::kFloat8E8M0},
    {34, "uint32", DType::kUInt32},
    {35, "uint64", DType::kUInt64},
};
constexpr int64_t kStridedLayout = 7;
constexpr int64_t kSchemaMajor = 8;

std::pair<DType, std::string> ScalarType(int64_t code) {
  for (const ScalarTypeRow& row : kScalarTypes) {
    if (row.code == code) return {row.dtype, std::string(row.name)};
  }
  return {DType::kInvalid, fmt::format("number {}", code)};
}

// Parses expressions, each text once: the same few fill a program.
class Expressions {
 public:
  explicit Expressions(SymbolTable& symbols) : symbols_(symbols) {}

  Number Read(const JsonView& view) {
    std::string text = view.Text();
    if (const auto it = known_.find(text); it != known_.end()) return it->second;
    const std::optional<Number> number = ParseExpression(text, symbols_);
    if (!number) view.Broken("'{}' is no expression", text.substr(0, 200));
    return known_.emplace(std::move(text), number.value_or(Number())).first->second;
  }

 private:
  SymbolTable& symbols_;
  std::unordered_map<std::string, Number> known_;
};

// {"as_int": 3}, {"as_expr": {"expr_str": ...}}; SymBool and SymFloat likewise.
Number ReadSymbolicValue(const JsonView& view, Expressions& expressions) {
  const auto [tag, value] = view.Union();
  if (tag == "as_int") return Dim(value.Int());
  if (tag == "as_float") return value.Number();
  if (tag == "as_bool") return value.Bool();
  if (tag == "as_expr") return expressions.Read(value["expr_str"]);
  if (!tag.empty()) view.Broken("'{}' is no kind of symbolic number", tag);
  return {};
}

TensorMeta ReadTensorMeta(const JsonView& view, Expressions& expressions) {
  TensorMeta meta;
  std::tie(meta.dtype, meta.dtype_name) = ScalarType(view["dtype"].Int());
  for (const JsonView& size : view["sizes"].Items()) meta.sizes.push_back(ReadSymbolicValue(size, expressions));
  for (const JsonView& stride : view["strides"].Items()) {
    meta.strides.push_back(ReadSymbolicValue(stride, expressions));
  }
  if (meta.strides.size() != meta.sizes.size()) {
    view.Broken("{} sizes but {} strides", meta.sizes.size(), meta.strides.size());
  }
  meta.storage_offset = Dim(0);
  if (const auto offset = view.Find("storage_offset")) meta.storage_offset = ReadSymbolicValue(*offset, expressions);
  if (const auto layout = view.Find("layout")) meta.strided = layout->Int() == kStridedLayout;
  return meta;
}

class GraphReader {
 public:
  explicit GraphReader(Expressions& expressions) : expressions_(expressions) {}

  ProgramGraph Read(const JsonView& view) {
    ProgramGraph graph;
    // Values first, so that symbols are numbered as the inputs mention them.
    ReadTensors(view, graph);
    for (const char* table : {"sym_int_values", "sym_bool_values", "sym_float_values"}) {
      const auto values = view.Find(table);
      if (!values) continue;
      for (const auto& [name, value] : values->Members()) {
        graph.numbers.emplace(name, ReadSymbolicValue(value, expressions_));
      }
    }
    graph.inputs = ReadArguments(view["inputs"]);
    graph.outputs = ReadArguments(view["outputs"]);
    size_t index = 0;
    for (const JsonView& node : view["nodes"].Items()) graph.nodes.push_back(ReadNode(node, index++));
    return graph;
  }

  Argument ReadArgument(const JsonView& view) {
    const auto [tag, value] = view.Union();
    for (const Tag& row : Tags()) {
      if (row.name == tag) return (this->*row.read)(value);
    }
    if (!tag.empty()) view.Broken("'{}' is no kind of argument that is known", tag);
    return {};
  }

 private:
  struct Tag {
    std::string_view name;
    Argument (GraphReader::*read)(const JsonView&);
  };
  static std::span<const Tag> Tags();

  void ReadTensors(const JsonView& view, ProgramGraph& graph) {
    const JsonView tensors = view["tensor_values"];
    auto read = [&](const std::string& name, const JsonView& meta) {
      graph.tensors.emplace(name, ReadTensorMeta(meta, expressions_));
    };
    for (const JsonView& input : view["inputs"].Items()) {
      const auto [tag, value] = input.Union();
      if (tag != "as_tensor") continue;
      const std::string name = value["name"].Text();
      if (const auto meta = tensors.Find(name)) read(name, *meta);
    }
    for (const auto& [name, meta] : tensors.Members()) {
      if (!graph.tensors.contains(name)) read(name, meta);
    }
  }

  std::vector<Argument> ReadArguments(const JsonView& view) {
    std::vector<Argument> arguments;
    for (const JsonView& item : view.Items()) arguments.push_back(ReadArgument(item));
    return arguments;
  }

  ProgramNode ReadNode(const JsonView& view, size_t index) {
    ProgramNode node;
    node.target = view["target"].Text();
    if (constexpr std::string_view kPrefix = "torch.ops."; node.target.starts_with(kPrefix)) {
      node.target.erase(0, kPrefix.size());
    }
    for (const JsonView& input : view["inputs"].Items()) {
      node.inputs.push_back({input["name"].Text(), ReadArgument(input["arg"])});
    }
    node.outputs = ReadArguments(view["outputs"]);
    if (const auto name = view.Find("name")) node.name = name->Text();
    if (node.name.empty()) node.name = NameOf(node, index);  // torch 2.9 writes none
    if (const auto metadata = view.Find("metadata")) node.source = SourceOf(*metadata);
    return node;
  }

  static std::string NameOf(const ProgramNode& node, size_t index) {
    for (const Argument& output : node.outputs) {
      if (output.kind == Kind::kTensor && !output.names[0].empty()) return output.names[0];
    }
    return fmt::format("node_{}", index);
  }

  // The innermost place that the exporter noted: a line of the user's, else a module.
  static std::string SourceOf(const JsonView& metadata) {
    if (const auto trace = metadata.Find("stack_trace"); trace && trace->IsText()) return LastLine(trace->Text());
    const auto stack = metadata.Find("nn_module_stack");
    if (!stack || !stack->IsText()) return {};
    // "key,path,type;key,path,type"
    const std::string text = stack->Text();
    const std::string last = text.substr(text.rfind(';') + 1);
    const size_t first_comma = last.find(','), second_comma = last.find(',', first_comma + 1);
    if (first_comma == last.npos || second_comma == last.npos || second_comma == first_comma + 1) return {};
    return fmt::format("in module '{}'", last.substr(first_comma + 1, second_comma - first_comma - 1).substr(0, 100));
  }

  // 'File "/a/b/net.py", line 12, in forward\n    x = f(y)' gives 'net.py:12: x = f(y)'. The innermost frame outside of
  // PyTorch is the user's.
  static std::string LastLine(const std::string& trace) {
    std::string innermost;
    for (size_t file = trace.rfind("File \""); file != trace.npos;
         file = file == 0 ? trace.npos : trace.rfind("File \"", file - 1)) {
      const size_t quote = trace.find('"', file + 6), line = trace.find(", line ", file);
      if (quote == trace.npos || line == trace.npos) continue;
      const std::string path = trace.substr(file + 6, quote - file - 6);
      if (innermost.empty()) innermost = LineText(trace, path, line + 7);
      if (path.find("/torch/") == path.npos) return LineText(trace, path, line + 7);
    }
    return innermost;
  }

  static std::string LineText(const std::string& trace, const std::string& path, size_t number) {
    const size_t number_end = std::min(trace.find_first_not_of("0123456789", number), trace.size());
    std::string text = fmt::format("{}:{}", path.substr(path.rfind('/') + 1), trace.substr(number, number_end - number));
    const size_t newline = trace.find('\n', number);
    const size_t begin = newline == trace.npos ? newline : trace.find_first_not_of(' ', newline + 1);
    if (begin != trace.npos) text += ": " + trace.substr(begin, trace.find('\n', begin) - begin);
    return text.substr(0, 200);
  }

  static Argument Unsupported(std::string what) { return {.kind = Kind::kUnsupported, .names = {std::move(what)}}; }

  Argument ReadNone(const JsonView&) { return {}; }
  Argument ReadTensor(const JsonView& view) { return {.kind = Kind::kTensor, .names = {view["name"].Text()}}; }
  Argument ReadOptionalTensor(const JsonView& view) {
    const auto [tag, value] = view.Union();
    return tag == "as_none" ? Argument{} : ReadTensor(value);
  }
  Argument ReadTensors(const JsonView& view) {
    Argument argument{.kind = Kind::kTensors};
    for (const JsonView& item : view.Items()) argument.names.push_back(item["name"].Text());
    return argument;
  }
  Argument ReadOptionalTensors(const JsonView& view) {
    Argument argument{.kind = Kind::kTensors};
    for (const JsonView& item : view.Items()) {
      const auto [tag, value] = item.Union();
      if (tag != "as_none" && tag != "as_tensor") item.Broken("expected as_tensor or as_none");
      argument.names.push_back(tag == "as_tensor" ? value["name"].Text() : std::string());
    }
    return argument;
  }

  static Argument One(NumberRef number) { return {.kind = Kind::kNumber, .numbers = {std::move(number)}}; }
  Argument ReadInt(const JsonView& view) { return One({"", Dim(view.Int())}); }
  Argument ReadFloat(const JsonView& view) { return One({"", view.Number()}); }
  Argument ReadBool(const JsonView& view) { return One({"", view.Bool()}); }
  NumberRef ReadSymbolicRef(const JsonView& view) {
    const auto [tag, value] = view.Union();
    if (tag == "as_name") return {value.Text(), {}};
    return {"", ReadSymbolicValue(view, expressions_)};
  }
  Argument ReadSymbolic(const JsonView& view) { return One(ReadSymbolicRef(view)); }

  Argument ReadInts(const JsonView& view) {
    return ReadList(view, [](const JsonView& item) { return NumberRef{"", Dim(item.Int())}; });
  }
  Argument ReadFloats(const JsonView& view) {
    Argument argument = ReadList(view, [](const JsonView& item) { return NumberRef{"", item.Number()}; });
    argument.is_float = true;
    return argument;
  }
  Argument ReadBools(const JsonView& view) {
    Argument argument = ReadList(view, [](const JsonView& item) { return NumberRef{"", item.Bool()}; });
    argument.is_bool = true;
    return argument;
  }
  Argument ReadSymbolics(const JsonView& view) {
    return ReadList(view, [this](const JsonView& item) { return ReadSymbolicRef(item); });
  }
  Argument ReadSymbolicFloats(const JsonView& view) {
    Argument argument = ReadSymbolics(view);
    argument.is_float = true;
    return argument;
  }
  template <typename Read>
  static Argument ReadList(const JsonView& view, Read read) {
    Argument argument{.kind = Kind::kNumbers};
    for (const JsonView& item : view.Items()) argument.numbers.push_back(read(item));
    return argument;
  }

  Argument ReadString(const JsonView& view) { return {.kind = Kind::kString, .names = {view.Text()}}; }
  Argument ReadStrings(const JsonView& view) {
    Argument argument{.kind = Kind::kStrings};
    for (const JsonView& item : view.Items()) argument.names.push_back(item.Text());
    return argument;
  }
  Argument ReadScalarType(const JsonView& view) {
    auto [dtype, name] = ScalarType(view.Int());
    return {.kind = Kind::kScalarType, .names = {std::move(name)}, .dtype = dtype};
  }
  Argument ReadPlacement(const JsonView&) { return {.kind = Kind::kPlacement}; }
  Argument ReadLayout(const JsonView& view) {
    if (view.Int() == kStridedLayout) return {.kind = Kind::kPlacement};
    return Unsupported(fmt::format("layout number {} (only strided tensors)", view.Int()));
  }
  Argument ReadGraph(const JsonView& view) {
    return {.kind = Kind::kGraph,
            .names = {view["name"].Text()},
            .graph = std::make_shared<const ProgramGraph>(Read(view["graph"]))};
  }
  Argument ReadOperator(const JsonView& view) { return {.kind = Kind::kOperator, .names = {view.Text()}}; }
  Argument ReadCustomObject(const JsonView& view) {
    return Unsupported(fmt::format("custom object of class {}", view["class_fqn"].Text()));
  }
  Argument ReadComplex(const JsonView&) { return Unsupported("a complex number as an argument"); }
  Argument ReadNested(const JsonView&) { return Unsupported("a nested list as an argument"); }

  Expressions& expressions_;
};

std::span<const GraphReader::Tag> GraphReader::Tags() {
  static constexpr Tag kTags[] = {
      {"as_none", &GraphReader::ReadNone},
      {"as_tensor", &GraphReader::ReadTensor},
      {"as_tensors", &GraphReader::ReadTensors},
      {"as_optional_tensor", &GraphReader::ReadOptionalTensor},
      {"as_optional_tensors", &GraphReader::ReadOptionalTensors},
      {"as_int", &GraphReader::ReadInt},
      {"as_ints", &GraphReader::ReadInts},
      {"as_float", &GraphReader::ReadFloat},
      {"as_floats", &GraphReader::ReadFloats},
      {"as_bool", &GraphReader::ReadBool},
      {"as_bools", &GraphReader::ReadBools},
      {"as_sym_int", &GraphReader::ReadSymbolic},
      {"as_sym_ints", &GraphReader::ReadSymbolics},
      {"as_sym_bool", &GraphReader::ReadSymbolic},
      {"as_sym_bools", &GraphReader::ReadSymbolics},
      {"as_sym_float", &GraphReader::ReadSymbolic},
      {"as_sym_floats", &GraphReader::ReadSymbolicFloats},
      {"as_string", &GraphReader::ReadString},
      {"as_strings", &GraphReader::ReadStrings},
      {"as_scalar_type", &GraphReader::ReadScalarType},
      {"as_memory_format", &GraphReader::ReadPlacement},
      {"as_device", &GraphReader::ReadPlacement},
      {"as_layout", &GraphReader::ReadLayout},
      {"as_graph", &GraphReader::ReadGraph},
      {"as_operator", &GraphReader::ReadOperator},
      {"as_custom_obj", &GraphReader::ReadCustomObject},
      {"as_complex", &GraphReader::ReadComplex},
      {"as_nested_tensors", &GraphReader::ReadNested},
      {"as_int_lists", &GraphReader::ReadNested},
      {"as_float_lists", &GraphReader::ReadNested},
      {"as_string_to_argument", &GraphReader::ReadNested},
  };
  return kTags;
}

class ProgramReader {
 public:
  ProgramReader(Program& program, Problems& problems)
      : program_(program), problems_(problems), expressions_(program.symbols), graphs_(expressions_) {}

  void Read(const JsonView& view) {
    if (const auto version = view.Find("torch_version")) program_.torch_version = version->Text();
    ReadSchemaVersion(view["schema_version"]);
    const JsonView module = view["graph_module"];
    program_.graph = graphs_.Read(module["graph"]);
    const JsonView signature = module["signature"];
    for (const JsonView& spec : signature["input_specs"].Items()) program_.inputs.push_back(ReadInputSpec(spec));
    for (const JsonView& spec : signature["output_specs"].Items()) program_.outputs.push_back(ReadOutputSpec(spec));
    ReadCallSignature(module["module_call_graph"]);
    if (const auto ranges = view.Find("range_constraints")) ReadRanges(*ranges);
    if (const auto guards = view.Find("guards_code")) {
      for (const JsonView& guard : guards->Items()) program_.guards.push_back(guard.Text());
    }
  }

 private:
  void ReadSchemaVersion(const JsonView& view) {
    const int64_t major = view["major"].Int();
    if (major == kSchemaMajor || view.IsNull()) return;
    problems_.Unsupported(fmt::format("schema version {} of torch {}; export with torch 2.9 or a release whose schema "
                                      "version is {}",
                                      major, program_.torch_version, kSchemaMajor),
                          "");
  }

  InputSpec ReadInputSpec(const JsonView& view) {
    const auto [tag, value] = view.Union();
    if (tag == "user_input") return {InputSpec::Kind::kUser, graphs_.ReadArgument(value["arg"]), ""};
    if (tag == "parameter") return Weight(InputSpec::Kind::kParameter, value, "parameter_name");
    if (tag == "buffer") return Weight(InputSpec::Kind::kBuffer, value, "buffer_name");
    if (tag == "tensor_constant") return Weight(InputSpec::Kind::kTensorConstant, value, "tensor_constant_name");
    if (tag == "custom_obj") return Weight(InputSpec::Kind::kCustomObject, value, "custom_obj_name");
    if (tag == "token") return Weight(InputSpec::Kind::kToken, value, "");
    if (tag == "constant_input") {
      return {InputSpec::Kind::kConstant, graphs_.ReadArgument(value["value"]), value["name"].Text()};
    }
    if (!tag.empty()) view.Broken("'{}' is no kind of input that is known", tag);
    return {};
  }

  static InputSpec Weight(InputSpec::Kind kind, const JsonView& view, std::string_view target) {
    const Argument argument{.kind = Kind::kTensor, .names = {view["arg"]["name"].Text()}};
    return {kind, argument, target.empty() ? std::string() : view[target].Text()};
  }

  OutputSpec ReadOutputSpec(const JsonView& view) {
    const auto [tag, value] = view.Union();
    if (tag == "user_output") return {OutputSpec::Kind::kUser, graphs_.ReadArgument(value["arg"]), ""};
    if (tag == "buffer_mutation") return {OutputSpec::Kind::kBufferMutation, {}, value["buffer_name"].Text()};
    if (tag == "user_input_mutation") return {OutputSpec::Kind::kInputMutation, {}, value["user_input_name"].Text()};
    if (tag == "token") return {OutputSpec::Kind::kToken, {}, ""};
    return {OutputSpec::Kind::kOther, {}, tag};
  }

  // The first entry is the whole model.
  void ReadCallSignature(const JsonView& view) {
    for (const JsonView& entry : view.Items()) {
      if (!entry["fqn"].Text().empty()) continue;
      const auto signature = entry.Find("signature");
      if (!signature) continue;
      program_.input_tree = ReadTree((*signature)["in_spec"]);
      program_.output_tree = ReadTree((*signature)["out_spec"]);
      if (const auto names = signature->Find("forward_arg_names")) {
        for (const JsonView& name : names->Items()) program_.argument_names.push_back(name.Text());
      }
      return;
    }
    view.Broken("has no entry for the whole model (fqn \"\")");
  }

  // A specification is JSON in a string: [1, {"type": ..., "context": ..., "children_spec": [...]}].
  TreeSpec ReadTree(const JsonView& view) {
    const std::unique_ptr<JsonDocument> document = JsonDocument::Parse(view.Path(), view.Text(), problems_);
    if (!document) return {};
    const std::vector<JsonView> items = document->root().Items();
    if (items.size() == 2) return ReadTreeNode(items[1]);
    view.Broken("is no tree specification");
    return {};
  }

  TreeSpec ReadTreeNode(const JsonView& view) {
    TreeSpec tree;
    if (const auto type = view.Find("type")) tree.type = type->Text();
    for (const JsonView& child : view["children_spec"].Items()) tree.children.push_back(ReadTreeNode(child));
    if (tree.IsLeaf()) return tree;
    if (const auto context = view.Find("context"); context && context->IsText()) ReadKeys(context->Text(), tree);
    if (tree.keys.size() != tree.children.size()) tree.keys.clear();
    return tree;
  }

  // Dicts: ["a", "b"]; default dicts: {"dict_context": ["a"]}; dataclasses: [["a", "b"], ["fields that are None"]].
  // Whatever else types of users write is no business of ours.
  void ReadKeys(const std::string& context, TreeSpec& tree) {
    Problems ignored("");
    const auto document = JsonDocument::Parse("context", context, ignored);
    if (!document || context.empty() || (context[0] != '[' && context[0] != '{')) return;
    JsonView list = document->root();
    if (context[0] == '{') {
      const auto inner = list.Find("dict_context");
      if (!inner) return;
      list = *inner;
    }
    std::vector<JsonView> items = list.Items();
    const bool is_dict = tree.type == "builtins.dict" || tree.type == "collections.OrderedDict" ||
                         tree.type == "collections.defaultdict";
    if (!is_dict && items.size() == 2 && !items[0].IsText() && !items[0].IsNull()) {
      items = items[0].Items();
      tree.attributes = true;
    }
    if (!is_dict && !tree.attributes) return;
    for (const JsonView& item : items) tree.keys.push_back(item.IsText() ? item.Text() : KeyText(item));
    if (!ignored.empty()) tree.keys.clear();
  }

  static std::string KeyText(const JsonView& key) { return fmt::format("{}", key.Int()); }

  // Keys are symbols, or linear expressions in one symbol in Python notation ("4*s0"), which bound that symbol too.
  // torch writes 2 where 0 and 1 would have been special to its tracer (Dim.AUTO, Dim.DYNAMIC, Dim(min=2)), and its own
  // exported module then checks nothing; what really needs more than one is a guard. Bounds of sizes that the data tell
  // (u0) are the program's own assertions.
  static int64_t LowerBound(std::string_view symbol, int64_t written) {
    if (symbol.starts_with('u')) return std::max<int64_t>(written, 0);
    return written <= 2 ? 0 : written;
  }

  void ReadRanges(const JsonView& view) {
    for (const auto& [key, range] : view.Members()) {
      int64_t min = 0, max = INT64_MAX;
      if (const auto value = range.Find("min_val")) min = LowerBound(key, value->Int());
      if (const auto value = range.Find("max_val")) max = value->Int();
      if (max < min) range.Broken("the range {} to {} of '{}' is empty", min, max, key);
      const bool is_name = key.find_first_not_of("abcdefghijklmnopqrstuvwxyz0123456789_") == key.npos;
      if (is_name) program_.symbols.Intern(key);
      const std::optional<Dim> dim = Dim::Parse(key, program_.symbols.symbols());
      if (dim) Narrow(*dim, min, max);
    }
  }

  void Narrow(const Dim& dim, int64_t min, int64_t max) {
    std::vector<SymbolId> ids;
    dim.CollectSymbols(ids);
    if (ids.size() != 1) return;
    SymbolInfo& symbol = program_.symbols.symbols()[static_cast<size_t>(ids[0])];
    std::vector<int64_t> at(program_.symbols.symbols().size(), 0);
    const int64_t zero = dim.Evaluate(at);
    at[static_cast<size_t>(ids[0])] = 1;
    const int64_t slope = dim.Evaluate(at) - zero;
    if (slope < 1 || !(Dim(slope) * Dim::Symbol(ids[0]) + Dim(zero) == dim)) return;
    int64_t low = 0, high = 0;
    if (__builtin_sub_overflow(min, zero, &low) || __builtin_sub_overflow(max, zero, &high)) return;
    symbol.min = std::max(symbol.min, low / slope + (low > 0 && low % slope != 0 ? 1 : 0));
    if (max != INT64_MAX) symbol.max = std::min(symbol.max, high / slope);
  }

  Program& program_;
  Problems& problems_;
  Expressions expressions_;
  GraphReader graphs_;
};

}  // namespace

std::unique_ptr<Program> ReadProgram(const std::string& record, std::string_view text, Problems& problems) {
  auto program = std::make_unique<Program>();
  const std::unique_ptr<JsonDocument> document = JsonDocument::Parse(record, text, problems);
  if (document) ProgramReader(*program, problems).Read(document->root());
  return program;
}

Payloads ReadPayloads(const std::string& record, std::string_view text, Problems& problems) {
  Payloads payloads;
  const std::unique_ptr<JsonDocument> document = JsonDocument::Parse(record, text, problems);
  if (!document) return payloads;
  SymbolTable symbols;
  Expressions expressions(symbols);
  for (const auto& [name, entry] : document->root()["config"].Members()) {
    Payload payload{.record = entry["path_name"].Text(), .pickled = entry["use_pickle"].Bool(), .meta = {}};
    if (const auto meta = entry.Find("tensor_meta")) payload.meta = ReadTensorMeta(*meta, expressions);
    payloads.emplace(name, std::move(payload));
  }
  return payloads;
}

}  // namespace tondar::pt2
