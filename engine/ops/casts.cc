// Conversions of dtype, and operators that a graph of pure functions does not need.
#include "engine/ops/families.h"
#include "engine/ops/lowering.h"

namespace tondar {
namespace {

Status SetCast(Node& node, DType dtype) {
  const Value* x = node.inputs[0];
  if (dtype == DType::kInvalid) dtype = x->dtype;
  if (dtype != x->dtype && (IsComplex(dtype) || IsComplex(x->dtype))) {
    return Unimplemented("conversion from {} to {}", Name(x->dtype), Name(dtype));
  }
  SetOutput(node, 0, dtype, x->shape);
  return OkStatus();
}

Status InferCast(Node& node) { return SetCast(node, Arguments(node).Type("dtype")); }
Status InferTypeAs(Node& node) { return SetCast(node, node.inputs[1]->dtype); }

Status LowerCast(const Node& node, LoweringBuilder& builder) {
  builder.Replace(0, builder.Cast(node.inputs[0], node.outputs[0]->dtype));
  return OkStatus();
}

// Conversions to the dtype that x has already vanish; the others become a cast.
Status LowerTo(const Node& node, LoweringBuilder& builder) {
  const DType dtype = node.outputs[0]->dtype;
  if (dtype == node.inputs[0]->dtype) {
    builder.Replace(0, node.inputs[0]);
    return OkStatus();
  }
  TONDAR_ASSIGN_OR_RETURN(Value * cast, builder.Op("cast", {node.inputs[0]}, {{"dtype", dtype}}));
  builder.Replace(0, cast);
  return OkStatus();
}

// The same bytes as elements of another dtype; the last dim takes up the difference in size.
Status InferBits(Node& node) {
  const DType from = node.inputs[0]->dtype, to = Arguments(node).Type("dtype");
  if (to == DType::kInvalid || to == DType::kBool || IsComplex(to) || IsComplex(from)) {
    return Unimplemented("bits of {} as {}", Name(from), Name(to));
  }
  Shape shape = node.inputs[0]->shape;
  const auto old_size = static_cast<int64_t>(SizeOf(from)), new_size = static_cast<int64_t>(SizeOf(to));
  if (old_size != new_size) {
    if (shape.empty()) return InvalidArgument("a 0-d tensor of {} cannot be seen as {}", Name(from), Name(to));
    shape.back() = old_size > new_size ? shape.back() * Dim(old_size / new_size) : Dim::FloorDiv(shape.back(), new_size / old_size);
  }
  SetOutput(node, 0, to, std::move(shape));
  return OkStatus();
}

OpSchema Row(std::string name, std::vector<SourceForm> sources, Status (*infer)(Node&),
             Status (*lower)(const Node&, LoweringBuilder&), bool early, std::string signature = "") {
  OpSchema schema{.name = std::move(name), .sources = std::move(sources), .signature = std::move(signature)};
  schema.infer = infer;
  schema.lower = lower;
  schema.early = early;
  return schema;
}

OpSchema Bits() {
  OpSchema schema = Row(std::string(kBitsOp), {{"aten.view.dtype", "(Tensor self, ScalarType dtype)"}}, InferBits, nullptr, false);
  schema.is_view = true;
  return schema;
}

OpSchema Dropped(std::string name, std::string signature) {
  OpSchema schema{.name = name, .sources = {{"aten." + name, signature}}};
  schema.results = 0;
  schema.infer = [](Node&) { return OkStatus(); };
  schema.drop = true;
  return schema;
}

}  // namespace

std::vector<OpSchema> CastOps() {
  return {
      Row("cast", {{"prims.convert_element_type.default", "(Tensor a, ScalarType dtype)", {{"a", "self"}}}}, InferCast,
          LowerCast, false, "(Tensor self, ScalarType dtype)"),
      Bits(),
      Row("to",
          {{"aten._to_copy.default",
            "(Tensor self, *, ScalarType? dtype=None, Layout? layout=None, Device? device=None, bool? pin_memory=None, "
            "bool non_blocking=False, MemoryFormat? memory_format=None)"},
           {"aten.to.dtype",
            "(Tensor self, ScalarType dtype, bool non_blocking=False, bool copy=False, MemoryFormat? "
            "memory_format=None)"},
           {"aten.to.dtype_layout",
            "(Tensor self, *, ScalarType? dtype=None, Layout? layout=None, Device? device=None, bool? pin_memory=None, "
            "bool non_blocking=False, bool copy=False, MemoryFormat? memory_format=None)"},
           {"aten.to.device",
            "(Tensor self, Device device, ScalarType dtype, bool non_blocking=False, bool copy=False, MemoryFormat? "
            "memory_format=None)"}},
          InferCast, LowerTo, true, "(Tensor self, ScalarType? dtype=None)"),
      Row("type_as", {{"aten.type_as.default", "(Tensor self, Tensor other)"},
                      {"aten.to.other",
                       "(Tensor self, Tensor other, bool non_blocking=False, bool copy=False, MemoryFormat? "
                       "memory_format=None)"}},
          InferTypeAs, LowerTo, true),
      Dropped("_assert_tensor_metadata.default",
              "(Tensor a, SymInt[]? size=None, SymInt[]? stride=None, ScalarType? dtype=None, *, Device? device=None, "
              "Layout? layout=None)"),
      Dropped("_assert_scalar.default", "(Scalar self, str assert_msg)"),
      Dropped("_assert_async.default", "(Tensor self)"),
      Dropped("_assert_async.msg", "(Tensor self, str assert_msg)"),
      Dropped("sym_constrain_range.default", "(Scalar size, *, int? min=None, int? max=None)"),
      Dropped("sym_constrain_range_for_size.default", "(Scalar size, *, int? min=None, int? max=None)"),
      Dropped("_linalg_check_errors.default", "(Tensor info, str api_name, *, bool is_matrix)"),
  };
}

}  // namespace tondar
