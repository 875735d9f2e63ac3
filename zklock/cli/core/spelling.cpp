// SPDX-License-Identifier: Apache-2.0
#include "zklock/cli/core/spelling.h"

#include <algorithm>
#include <cstddef>
#include <numeric>
#include <vector>

namespace zklock::cli {

namespace {

/// Returns the Levenshtein distance.
std::size_t distance(std::string_view a, std::string_view b) {
  std::vector<std::size_t> row(b.size() + 1);
  std::iota(row.begin(), row.end(), std::size_t{0});
  for (std::size_t i = 0; i < a.size(); ++i) {
    std::size_t diagonal = row[0]++;
    for (std::size_t j = 0; j < b.size(); ++j) {
      const std::size_t replaced = diagonal + (a[i] == b[j] ? 0 : 1);
      diagonal = row[j + 1];
      row[j + 1] = std::min({replaced, row[j] + 1, row[j + 1] + 1});
    }
  }
  return row.back();
}

}  // namespace

std::string_view closest_name(std::string_view written, std::span<const std::string_view> names) {
  constexpr std::size_t kMost = 2;
  constexpr std::size_t kLongestName = 32;  // a longer text is no misspelling
  if (written.size() > kLongestName) return {};
  std::string_view closest;
  std::size_t least = std::min(kMost + 1, written.size());
  for (const std::string_view name : names) {
    if (const std::size_t found = distance(written, name); found < least) {
      least = found;
      closest = name;
    }
  }
  return closest;
}

}  // namespace zklock::cli
