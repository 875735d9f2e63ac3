// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <charconv>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <system_error>

#include "zklock/core/node_data.h"

namespace zklock::core {

/// The child of a semaphore's path that says how many permits there are, where that number is
/// shared and may be changed. It is no contender's, it is persistent (so the number outlives all
/// who use it, and the servers never take the path for an empty one), and it is the decimal number
/// and nothing else: people may read it, and write it.
inline constexpr std::string_view count_node = "count";

/// Nothing for what is no number from 0 to 2147483647.
inline std::optional<std::int32_t> parse_permit_count(std::string_view data) noexcept {
  if (data.empty() || data.front() == '-') return std::nullopt;
  std::int32_t number = 0;
  const auto [end, error] = std::from_chars(data.data(), data.data() + data.size(), number);
  if (error != std::errc() || end != data.data() + data.size()) return std::nullopt;
  return number;
}

/// What is wrong with data that are none, for the text of an error.
inline std::string bad_permit_count(std::string_view data) {
  return "its node " + std::string(count_node) + " says \"" + printable(data, 32) +
         "\", which is no number of permits";
}

}  // namespace zklock::core
