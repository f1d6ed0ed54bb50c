#include "server/config/testing/signatures.h"

namespace tondar::testing {

Signature TextClassifier(int64_t largest_batch) {
  Signature signature;
  signature.symbols = {{"batch", 1, largest_batch}, {"length", 1, 512}};
  signature.inputs = {{"tokens", DType::kInt64, {Dim::Symbol(0), Dim::Symbol(1)}}};
  signature.outputs = {{"scores", DType::kFloat32, {Dim::Symbol(0), 3}}};
  DeriveBatching(signature);
  return signature;
}

Signature Fixed() {
  Signature signature;
  signature.inputs = {{"x", DType::kFloat32, {4, 16}}};
  signature.outputs = {{"y", DType::kFloat32, {}}};
  signature.constants = {{"flag", true}};
  DeriveBatching(signature);
  return signature;
}

}  // namespace tondar::testing
