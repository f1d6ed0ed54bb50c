#include <unistd.h>

#include "server/config/nearest_name.h"
#include "server/config/option_sources.h"

namespace tondar {
namespace {

constexpr std::string_view kPrefix = "TONDAR_";

// Kubernetes gives every container variables about every Service: one called tondar-http makes
// TONDAR_HTTP_PORT=tcp://10.0.0.1:8000, which is not meant for us.
bool IsServiceLink(std::string_view value) { return value.starts_with("tcp://") || value.starts_with("udp://"); }

void Split(std::string_view text, const Option& option, const std::string& name, std::vector<Assignment>& out) {
  for (size_t start = 0; start <= text.size();) {
    const size_t comma = std::min(text.find(',', start), text.size());
    if (comma > start) out.push_back({&option, std::string(text.substr(start, comma - start)), name});
    start = comma + 1;
  }
}

// The common prefix is left out of the comparison: it would make any two names look alike.
void WarnOfSlip(std::string_view name, std::vector<std::string>& warnings) {
  std::vector<std::string> known;
  for (const Option& option : OptionTable()) known.push_back(OptionVariable(option).substr(kPrefix.size()));
  const std::vector<std::string_view> views(known.begin(), known.end());
  const std::string_view nearest = NearestName(name.substr(kPrefix.size()), views);
  if (nearest.empty()) return;
  warnings.push_back(fmt::format("{} has no effect: it names no option; did you mean '{}{}'?", name, kPrefix, nearest));
}

}  // namespace

Environment ProcessEnvironment() {
  Environment environment;
  for (char** entry = environ; entry != nullptr && *entry != nullptr; ++entry) {
    const std::string_view text = *entry;
    const size_t equals = text.find('=');
    if (text.starts_with(kPrefix) && equals != std::string_view::npos) {
      environment.emplace(text.substr(0, equals), text.substr(equals + 1));
    }
  }
  return environment;
}

std::vector<Assignment> ReadEnvironment(const Environment& environment, std::vector<std::string>& warnings) {
  std::vector<Assignment> assignments;
  for (const auto& [name, value] : environment) {
    if (!name.starts_with(kPrefix)) continue;
    const Option* found = nullptr;
    for (const Option& option : OptionTable()) {
      if (OptionVariable(option) == name) found = &option;
    }
    if (found == nullptr) {
      WarnOfSlip(name, warnings);
    } else if (IsServiceLink(value)) {
      warnings.push_back(fmt::format("{} has no effect: '{}' is the address of a Kubernetes Service", name, value));
    } else if (std::holds_alternative<ListField>(found->field)) {
      Split(value, *found, name, assignments);
    } else {
      assignments.push_back({found, value, name});
    }
  }
  return assignments;
}

}  // namespace tondar
