#include "engine/importers/problems.h"

#include <algorithm>

namespace tondar {
namespace {

void Append(std::string& text, std::string_view part) {
  if (!text.empty()) text += "; ";
  text += part;
}

}  // namespace

void Problems::Unsupported(std::string what, std::string_view node, std::string_view source) {
  const auto found =
      std::find_if(unsupported_.begin(), unsupported_.end(), [&](const Kind& kind) { return kind.what == what; });
  if (found != unsupported_.end()) {
    ++found->count;
    return;
  }
  if (unsupported_.size() >= kMaxKinds) what = "more things", node = {}, source = {};
  if (unsupported_.size() > kMaxKinds) return;
  unsupported_.push_back({std::move(what), std::string(node), std::string(source)});
}

Status Problems::ToStatus() const {
  std::string missing;
  for (const Kind& kind : unsupported_) {
    std::string where;
    if (!kind.node.empty()) {
      where = kind.count == 1 ? fmt::format("node {}", kind.node)
                              : fmt::format("{} nodes, first: {}", kind.count, kind.node);
    }
    if (!kind.source.empty()) where += fmt::format("{}{}", where.empty() ? "" : ", ", kind.source);
    Append(missing, where.empty() ? kind.what : fmt::format("{} ({})", kind.what, where));
  }
  if (!missing.empty()) {
    missing = unsupported_.size() == 1 ? fmt::format("1 thing is not supported: {}", missing)
                                       : fmt::format("{} things are not supported: {}", unsupported_.size(), missing);
  }
  if (broken_count_ == 0) return missing.empty() ? OkStatus() : Unimplemented("{}: {}", file_, missing);
  std::string broken;
  for (const std::string& text : broken_) Append(broken, text);
  if (broken_count_ > broken_.size()) Append(broken, fmt::format("and {} more", broken_count_ - broken_.size()));
  if (!missing.empty()) Append(broken, missing);
  return InvalidArgument("{}: {}", file_, broken);
}

}  // namespace tondar
