// Aliases: which tensors of a program share memory, so that writes in place become new values.
#ifndef TONDAR_ENGINE_IMPORTERS_PT2_ALIASES_H_
#define TONDAR_ENGINE_IMPORTERS_PT2_ALIASES_H_

#include <deque>
#include <string>
#include <string_view>
#include <vector>

#include "engine/base/status.h"
#include "engine/ir/graph.h"

namespace tondar::pt2 {

// How a tensor was made as a view, enough to make it again over another value of its parent.
struct ViewRecipe {
  std::string source;              // "aten.select.int"
  size_t output = 0;               // of several results
  std::vector<Value*> inputs;      // inputs[0] stands for the parent
  std::vector<int> segments;
  Attributes attributes;
};

// What a name of the program stands for, over time. Owned by Aliases; addresses are stable.
struct Tensor {
  Value* value = nullptr;   // null if there is none: `missing` says why, or the reason is reported already
  std::string missing;      // "result 1 of operator aten.native_layer_norm.default"
  Tensor* parent = nullptr;
  ViewRecipe recipe;
  bool is_certain = true;   // false: a view or a copy, as the strides at run time would have it (reshape, to)
  int64_t version = 0, parent_version = 0;
};

// The rules: a write to a tensor gives its root, through every view on the way, a new value; whoever is read later
// and lies over a changed parent is made anew. One thread.
class Aliases {
 public:
  explicit Aliases(Graph& graph) : graph_(graph) {}

  Tensor* AddRoot(Value* value);
  Tensor* AddMissing(std::string why);
  Tensor* AddView(Tensor* parent, ViewRecipe recipe, Value* value, bool is_certain);

  // The value as of now. Unimplemented: it cannot be told, or not be made again.
  Result<Value*> Current(Tensor* tensor);
  // Overwrites all of `tensor` by `value`, of the same shape and dtype. `where` is the writing node. Unimplemented:
  // the tensor is a view that has no way back.
  Status Write(Tensor* tensor, Value* value, std::string_view where);

 private:
  Status Remake(Tensor* tensor);

  Graph& graph_;
  std::deque<Tensor> tensors_;
};

// What a source operator's result is to its first argument.
enum class ViewKind : uint8_t { kNone, kView, kPerhaps };
ViewKind ViewKindOf(std::string_view source);

}  // namespace tondar::pt2

#endif  // TONDAR_ENGINE_IMPORTERS_PT2_ALIASES_H_
