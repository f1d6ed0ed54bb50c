// What becomes of the fields of a model configuration that this server does not act upon.
#ifndef TONDAR_SERVER_CONFIG_MODEL_CONFIG_RULES_H_
#define TONDAR_SERVER_CONFIG_MODEL_CONFIG_RULES_H_

#include <string>
#include <vector>

#include "engine/base/status.h"

namespace inference {
class ModelConfig;
}

namespace tondar {

// Refuses what would change answers or lose a protection if it were ignored, all of it in one message; adds a sentence
// to `warnings` for each field that has no effect. InvalidArgument names the fields.
Status ApplyModelConfigRules(const inference::ModelConfig& proto, std::vector<std::string>& warnings);

// docs/model_configuration.md: the fields that are obeyed, refused or without effect.
std::string ModelConfigMarkdown();

}  // namespace tondar

#endif  // TONDAR_SERVER_CONFIG_MODEL_CONFIG_RULES_H_
