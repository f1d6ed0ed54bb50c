#include "server/config/model_config_rules.h"

#include <algorithm>

#include "model_config.pb.h"

namespace tondar {
namespace {

using Proto = inference::ModelConfig;

enum class Action : uint8_t { kRefuse, kWarn };

struct Rule {
  std::string_view field;
  bool (*given)(const Proto&);
  Action action;
  std::string_view reason;  // why it is refused, or what happens instead
};

template <typename List, typename Predicate>
bool Any(const List& list, Predicate predicate) {
  return std::any_of(list.begin(), list.end(), predicate);
}

bool AnyGroup(const Proto& proto, bool (*given)(const inference::ModelInstanceGroup&)) {
  return Any(proto.instance_group(), given);
}
bool AnyInput(const Proto& proto, bool (*given)(const inference::ModelInput&)) { return Any(proto.input(), given); }
bool AnyOutput(const Proto& proto, bool (*given)(const inference::ModelOutput&)) {
  return Any(proto.output(), given);
}

// A field that is nowhere in this table is acted upon by model_config_resolve.cc or means nothing to a server (format).
constexpr Rule kRules[] = {
    // Ignoring these would change what a request is answered.
    {"ensemble_scheduling", [](const Proto& p) { return p.has_ensemble_scheduling(); }, Action::kRefuse,
     "ensembles are not implemented"},
    {"sequence_batching", [](const Proto& p) { return p.has_sequence_batching(); }, Action::kRefuse,
     "stateful sequences are not implemented"},
    {"model_transaction_policy.decoupled", [](const Proto& p) { return p.model_transaction_policy().decoupled(); },
     Action::kRefuse, "a request has exactly one response here"},
    {"input.reshape", [](const Proto& p) { return AnyInput(p, [](auto& i) { return i.has_reshape(); }); },
     Action::kRefuse, "reshaping is not implemented; write the dims of the model file"},
    {"output.reshape", [](const Proto& p) { return AnyOutput(p, [](auto& o) { return o.has_reshape(); }); },
     Action::kRefuse, "reshaping is not implemented; write the dims of the model file"},
    {"input.allow_ragged_batch", [](const Proto& p) { return AnyInput(p, [](auto& i) { return i.allow_ragged_batch(); }); },
     Action::kRefuse, "ragged inputs are not implemented"},
    {"input.is_shape_tensor", [](const Proto& p) { return AnyInput(p, [](auto& i) { return i.is_shape_tensor(); }); },
     Action::kRefuse, "shape tensors exist in TensorRT plans only"},
    {"output.is_shape_tensor", [](const Proto& p) { return AnyOutput(p, [](auto& o) { return o.is_shape_tensor(); }); },
     Action::kRefuse, "shape tensors exist in TensorRT plans only"},
    {"input.is_non_linear_format_io",
     [](const Proto& p) { return AnyInput(p, [](auto& i) { return i.is_non_linear_format_io(); }); }, Action::kRefuse,
     "tensors are row-major"},
    {"output.is_non_linear_format_io",
     [](const Proto& p) { return AnyOutput(p, [](auto& o) { return o.is_non_linear_format_io(); }); }, Action::kRefuse,
     "tensors are row-major"},
    {"batch_input", [](const Proto& p) { return p.batch_input_size() > 0; }, Action::kRefuse,
     "tensors made from the batch are not implemented"},
    {"batch_output", [](const Proto& p) { return p.batch_output_size() > 0; }, Action::kRefuse,
     "tensors made from the batch are not implemented"},
    {"model_operations", [](const Proto& p) { return p.model_operations().op_library_filename_size() > 0; },
     Action::kRefuse, "operator libraries cannot be loaded"},
    {"model_repository_agents", [](const Proto& p) { return p.model_repository_agents().agents_size() > 0; },
     Action::kRefuse, "there are no repository agents, so what the agent checks would go unchecked"},
    {"dynamic_batching.priority_queue_policy",
     [](const Proto& p) { return p.dynamic_batching().priority_queue_policy_size() > 0; }, Action::kRefuse,
     "one queue policy holds for all priorities; use default_queue_policy"},
    {"instance_group.passive", [](const Proto& p) { return AnyGroup(p, [](auto& g) { return g.passive(); }); },
     Action::kRefuse, "every instance runs requests"},

    // These make a difference to speed, placement or labels at most.
    {"response_cache", [](const Proto& p) { return p.response_cache().enable(); }, Action::kWarn,
     "nothing is cached, every request is computed"},
    {"model_warmup", [](const Proto& p) { return p.model_warmup_size() > 0; }, Action::kWarn,
     "the samples are not run"},
    {"output.label_filename",
     [](const Proto& p) { return AnyOutput(p, [](auto& o) { return !o.label_filename().empty(); }); }, Action::kWarn,
     "classification is not implemented, labels are not read"},
    {"optimization", [](const Proto& p) { return p.has_optimization(); }, Action::kWarn,
     "the engine optimises on its own"},
    {"instance_group.kind",
     [](const Proto& p) {
       return AnyGroup(p, [](auto& g) {
         return g.kind() == inference::ModelInstanceGroup::KIND_GPU || g.kind() == inference::ModelInstanceGroup::KIND_MODEL;
       });
     },
     Action::kWarn, "the device is chosen by --accelerator"},
    {"instance_group.gpus", [](const Proto& p) { return AnyGroup(p, [](auto& g) { return g.gpus_size() > 0; }); },
     Action::kWarn, "the device is chosen by --accelerator"},
    {"instance_group.profile", [](const Proto& p) { return AnyGroup(p, [](auto& g) { return g.profile_size() > 0; }); },
     Action::kWarn, "profiles exist in TensorRT plans only"},
    {"instance_group.rate_limiter",
     [](const Proto& p) { return AnyGroup(p, [](auto& g) { return g.has_rate_limiter(); }); }, Action::kWarn,
     "instances are not rate limited"},
    {"instance_group.secondary_devices",
     [](const Proto& p) { return AnyGroup(p, [](auto& g) { return g.secondary_devices_size() > 0; }); }, Action::kWarn,
     "there are no secondary devices"},
    {"instance_group.host_policy",
     [](const Proto& p) { return AnyGroup(p, [](auto& g) { return !g.host_policy().empty(); }); }, Action::kWarn,
     "there are no host policies"},
    {"dynamic_batching.priority_levels",
     [](const Proto& p) { return p.dynamic_batching().priority_levels() > 0; }, Action::kWarn,
     "a request may bring any priority from 1 up, lower numbers go first"},
    {"dynamic_batching.default_priority_level",
     [](const Proto& p) { return p.dynamic_batching().default_priority_level() > 0; }, Action::kWarn,
     "requests without a priority keep the default one"},
    {"metric_tags", [](const Proto& p) { return p.metric_tags_size() > 0; }, Action::kWarn,
     "metrics carry no labels of the user"},
    {"model_metrics", [](const Proto& p) { return p.has_model_metrics(); }, Action::kWarn,
     "histogram buckets are fixed"},
    {"cc_model_filenames", [](const Proto& p) { return p.cc_model_filenames_size() > 0; }, Action::kWarn,
     "the file is the same for every compute capability"},
    {"runtime", [](const Proto& p) { return !p.runtime().empty(); }, Action::kWarn, "there are no backend libraries"},
};

// What model_config_resolve.cc acts upon, for the page.
struct ObeyedField {
  std::string_view field, meaning;
};
constexpr ObeyedField kObeyed[] = {
    {"name", "must be the directory's name, or be left out"},
    {"platform, backend", "may be left out; a name of another server's backend for the same file is understood"},
    {"max_batch_size", "0: requests are not batched; left out: the range of the model's batch dimension, at most "
                       "`--default-max-batch-size`, if its rows provably do not mix"},
    {"input, output", "names (`INPUT__0` by position, too), data_type and dims must fit the model file; may be left out"},
    {"version_policy", "latest { num_versions }, all {} or specific { versions }; left out: the latest version"},
    {"instance_group.count", "executors of each version that run at the same time; state belongs to one of them"},
    {"dynamic_batching.preferred_batch_size", "sizes at which a batch is run without waiting for more"},
    {"dynamic_batching.max_queue_delay_microseconds", "how long a batch may wait for more rows; an idle instance waits no longer"},
    {"dynamic_batching.preserve_ordering", "answers leave in the order in which the requests came"},
    {"dynamic_batching.default_queue_policy", "max_queue_size, default_timeout_microseconds, timeout_action, allow_timeout_override"},
    {"default_model_filename", "another name for the model file in each version directory"},
    {"parameters", "`dynamic_batching` = `off` switches batching off; others are shown to clients"},
};

}  // namespace

std::string ModelConfigMarkdown() {
  std::string page =
      "# Fields of a model's configuration\n\n"
      "Generated from the table in `server/config/model_config_rules.cc`; change that, then run `make docs`.\n"
      "A configuration, `config.pbtxt` or `config.json`, is optional: what it leaves out is read from the model file.\n\n"
      "## Obeyed\n\n| field | meaning |\n|---|---|\n";
  for (const ObeyedField& row : kObeyed) page += fmt::format("| `{}` | {} |\n", row.field, row.meaning);
  for (const auto& [action, title] : {std::pair(Action::kRefuse, "Refused: ignoring it would change answers"),
                                      std::pair(Action::kWarn, "Without effect: accepted with a warning")}) {
    page += fmt::format("\n## {}\n\n| field | because |\n|---|---|\n", title);
    for (const Rule& rule : kRules) {
      if (rule.action == action) page += fmt::format("| `{}` | {} |\n", rule.field, rule.reason);
    }
  }
  return page;
}

Status ApplyModelConfigRules(const Proto& proto, std::vector<std::string>& warnings) {
  std::string refused;
  for (const Rule& rule : kRules) {
    if (!rule.given(proto)) continue;
    if (rule.action == Action::kWarn) {
      warnings.push_back(fmt::format("{} has no effect: {}", rule.field, rule.reason));
    } else {
      refused += fmt::format("{}{}: {}", refused.empty() ? "" : "; ", rule.field, rule.reason);
    }
  }
  if (!refused.empty()) return InvalidArgument("config: {}", refused);
  return OkStatus();
}

}  // namespace tondar
