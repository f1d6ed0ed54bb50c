// Signature: what a model takes and gives, in the user's names.
#ifndef TONDAR_ENGINE_API_SIGNATURE_H_
#define TONDAR_ENGINE_API_SIGNATURE_H_

#include <cstdint>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "engine/types/dtype.h"
#include "engine/types/shape.h"

namespace tondar {

// One tensor of a signature. Extents that depend on the call are expressions over Signature::symbols.
struct TensorSpec {
  std::string name;
  DType dtype = DType::kInvalid;
  Shape shape;
  SymbolId number = -1;  // of a 0-d input that gives sizes ("k: int" of a program): the symbol whose value it is
};

// An input that the export turned into a constant: callers may leave it out; another value is refused.
struct ConstantSpec {
  std::string name;
  std::variant<bool, int64_t, double, std::string> value;
};

// Inputs and outputs keep the order of the model file.
struct Signature {
  std::vector<TensorSpec> inputs;
  std::vector<TensorSpec> outputs;
  std::vector<ConstantSpec> constants;
  std::vector<SymbolInfo> symbols;
  std::vector<TensorSpec> states;  // tensors that stay between the calls of one session

  // True if only a run tells how big some tensor is: a number among the inputs, say, or how many elements are not zero.
  bool has_data_sizes = false;
  // True if the first extent of every input and output is one and the same symbol: calls may be concatenated.
  bool batchable = false;
  SymbolId batch_symbol = -1;  // valid if batchable; its range bounds the batch size
  // Where the proof that a row's answer does not depend on the other rows ends: "step 'mean' reduces over the batch".
  // Empty if it holds. A batchable model with a doubt is batched only if its configuration asks for it.
  std::string batch_doubt;

  // Position of the input or output with this name; -1 if there is none.
  int FindInput(std::string_view name) const;
  int FindOutput(std::string_view name) const;
};

// The shape as the wire shows it: -1 for every extent that is not a constant.
Dims WireShape(const Shape& shape);

// The signature's symbols, named as its callers see them: "x.shape[0]" for the s77 that torch made up, "n" for the value
// of the input n. Names that a person gave (ONNX's "batch") stay.
std::vector<SymbolInfo> InUserTerms(const Signature& signature);

// Fills the batch fields from inputs, outputs and symbols. A model with state or with sizes that depend on data has no
// batch: calls of a batch would share what is each one's own.
void DeriveBatching(Signature& signature);

// Solves the symbols of `signature` so that every input has the given concrete shape, and checks ranges.
// `input_shapes` runs parallel to signature.inputs. Result: one value per symbol; a symbol that no input mentions gets
// its minimum. InvalidArgument names the input, the extent, and what was expected:
// "input 'x': shape [3,5] does not match [batch, 4]: extent 1 is 5, expected 4".
Result<std::vector<int64_t>> SolveSymbols(const Signature& signature, std::span<const Dims> input_shapes);

}  // namespace tondar

#endif  // TONDAR_ENGINE_API_SIGNATURE_H_
