// Signatures for tests, without a model file.
#ifndef TONDAR_SERVER_CONFIG_TESTING_SIGNATURES_H_
#define TONDAR_SERVER_CONFIG_TESTING_SIGNATURES_H_

#include "engine/api/signature.h"

namespace tondar::testing {

// tokens: int64 [batch, length] -> scores: float32 [batch, 3]; 1 <= batch <= largest_batch, 1 <= length <= 512.
Signature TextClassifier(int64_t largest_batch = INT64_MAX);
// x: float32 [4, 16] -> y: float32 []; cannot batch. `flag` = true was made a constant.
Signature Fixed();

}  // namespace tondar::testing

#endif  // TONDAR_SERVER_CONFIG_TESTING_SIGNATURES_H_
