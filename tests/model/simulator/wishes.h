// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace zklock::simulator {

inline constexpr unsigned most_workers = 64;
inline constexpr double most_minutes = 1e6;

/// What the command line asks for.
struct Wishes {
  std::uint64_t seeds = 0;
  std::uint64_t from = 1;
  double minutes = 0;
  unsigned workers = 1;
  std::optional<std::uint64_t> seed = {};
  std::string plan = {};
  bool shrinks = true;
  bool keep_going = false;
  friend bool operator==(const Wishes&, const Wishes&) = default;
};

/// Nothing when a word is unknown, a value is missing, or it is no number of those that make sense.
std::optional<Wishes> parse_wishes(const std::vector<std::string>& words);

}  // namespace zklock::simulator
