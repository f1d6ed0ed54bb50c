// Finds what somebody who mistyped a name probably meant.
#ifndef TONDAR_SERVER_CONFIG_NEAREST_NAME_H_
#define TONDAR_SERVER_CONFIG_NEAREST_NAME_H_

#include <span>
#include <string>
#include <string_view>

namespace tondar {

// The candidate with the smallest edit distance (insert, delete, replace, swap of neighbours); "" if none is near
// enough to be a likely slip. '-' and '_' count as the same letter. First candidate wins ties.
std::string_view NearestName(std::string_view name, std::span<const std::string_view> candidates);

// "; did you mean 'x'?", or "" if nothing is near.
std::string DidYouMean(std::string_view name, std::span<const std::string_view> candidates);

}  // namespace tondar

#endif  // TONDAR_SERVER_CONFIG_NEAREST_NAME_H_
