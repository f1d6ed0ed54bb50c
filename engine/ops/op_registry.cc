// The registry of all operators. Apart from op_schema.cc, so that the families see only the latter's header.
#include "engine/ops/families.h"
#include "engine/ops/op_schema.h"

namespace tondar {
namespace {

// PyTorch's second names: the same arguments, overloads and in-place forms.
constexpr std::pair<std::string_view, std::string_view> kAliases[] = {
    {"absolute", "abs"},           {"arccos", "acos"},           {"arccosh", "acosh"},  {"arcsin", "asin"},
    {"arcsinh", "asinh"},          {"arctan", "atan"},           {"arctan2", "atan2"},  {"arctanh", "atanh"},
    {"divide", "div"},             {"greater", "gt"},            {"greater_equal", "ge"}, {"less", "lt"},
    {"less_equal", "le"},          {"linalg_matmul", "matmul"},  {"multiply", "mul"},   {"negative", "neg"},
    {"not_equal", "ne"},           {"special_expit", "sigmoid"}, {"subtract", "sub"},   {"unsafe_chunk", "chunk"},
    {"unsafe_split", "split"},     {"unsafe_split_with_sizes", "split_with_sizes"},
};

// "aten.gt.Scalar" for "aten.greater.Scalar"; "" if the name is no second one.
std::string FirstName(std::string_view source_name) {
  constexpr std::string_view kSpace = "aten.";
  if (!source_name.starts_with(kSpace)) return "";
  const std::string_view rest = source_name.substr(kSpace.size());
  const std::string_view stem = rest.substr(0, rest.find('.'));
  for (const auto& [alias, name] : kAliases) {
    const bool in_place = stem.size() == alias.size() + 1 && stem.ends_with('_') && stem.starts_with(alias);
    if (stem != alias && !in_place) continue;
    return std::string(kSpace) + std::string(name) + std::string(rest.substr(alias.size()));
  }
  return "";
}

}  // namespace

OpRegistry::OpRegistry() {
  for (const auto family : kFamilies) Register(family());
}

const OpRegistry& OpRegistry::Get() {
  static const OpRegistry registry;
  return registry;
}

void OpRegistry::AddSignature(const std::string& signature) {
  if (formals_.contains(signature)) return;
  Result<std::vector<Formal>> formals = ParseSignature(signature);
  TONDAR_CHECK(formals.ok(), "{}", formals.status().ToString());
  formals_.emplace(signature, *std::move(formals));
}

void OpRegistry::Register(std::vector<OpSchema> family) {
  for (OpSchema& schema : family) {
    const size_t row = schemas_.size();
    if (schema.signature.empty()) schema.signature = schema.sources.at(0).signature;
    AddSignature(schema.signature);
    TONDAR_CHECK(by_name_.emplace(schema.name, row).second, "operator '{}' has two rows", schema.name);
    for (size_t form = 0; form < schema.sources.size(); ++form) {
      if (schema.sources[form].signature.empty()) schema.sources[form].signature = schema.signature;
      AddSignature(schema.sources[form].signature);
      TONDAR_CHECK(by_source_.emplace(schema.sources[form].name, std::pair(row, form)).second,
                   "source operator '{}' has two rows", schema.sources[form].name);
    }
    schemas_.push_back(std::move(schema));
  }
}

const OpSchema* OpRegistry::Find(std::string_view op) const {
  const auto found = by_name_.find(op);
  return found == by_name_.end() ? nullptr : &schemas_[found->second];
}

OpRegistry::Source OpRegistry::FindSource(std::string_view source_name) const {
  auto found = by_source_.find(source_name);
  if (found == by_source_.end()) found = by_source_.find(FirstName(source_name));
  if (found == by_source_.end()) return {};
  const OpSchema& schema = schemas_[found->second.first];
  const SourceForm& form = schema.sources[found->second.second];
  return {&schema, &form, &formals_.find(form.signature)->second};
}

const std::vector<Formal>& OpRegistry::FormalsOf(const OpSchema& schema) const {
  return formals_.find(schema.signature)->second;
}

}  // namespace tondar
