// The inputs and outputs of a model configuration against those of the model file.
#ifndef TONDAR_SERVER_CONFIG_TENSOR_CONFIG_RULES_H_
#define TONDAR_SERVER_CONFIG_TENSOR_CONFIG_RULES_H_

#include "engine/api/signature.h"
#include "engine/base/status.h"
#include "server/config/model_config.h"

namespace tondar {

// True if some written tensor of a batchable model has complete dims whose first extent is a number: the user wants
// exactly that batch, so the model is served as not batching.
bool FixesFirstExtent(const inference::ModelConfig& written, const Signature& signature);

// Fills config.inputs and config.outputs in the order of the signature, with what was written checked against it:
// names (INPUT__0 and OUTPUT__0 stand for positions), datatypes, dims. Wants config.max_batch_size.
// `implicit_batch_only`: max_batch_size was written, so dims must leave the batch dimension out if it is above 0;
// otherwise dims may be written either way. InvalidArgument names the tensor, what was written and what the file has.
Status ResolveTensors(const inference::ModelConfig& written, bool implicit_batch_only, const Signature& signature,
                      ModelConfig& config);

// Writes config.inputs and config.outputs into the message, keeping what the user wrote besides name, type and dims.
void WriteTensors(const ModelConfig& config, inference::ModelConfig& proto);

}  // namespace tondar

#endif  // TONDAR_SERVER_CONFIG_TENSOR_CONFIG_RULES_H_
