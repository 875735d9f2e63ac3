// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <charconv>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <system_error>

#include "zklock/core/znode_data.h"

namespace zklock::core {

/// The child of a semaphore's path whose data are the shared permit count. It belongs to no
/// contender. It is persistent, so the count outlives all clients that use it. Servers do not
/// delete the path, because it is never empty. The data are a decimal number and nothing else:
/// people may read and write it.
inline constexpr std::string_view kCountNode = "count";

/// Returns std::nullopt unless the data are a number from 0 to 2147483647.
inline std::optional<std::int32_t> parse_permit_count(std::string_view data) noexcept {
  if (data.empty() || data.front() == '-') return std::nullopt;
  std::int32_t number = 0;
  const auto [end, error] = std::from_chars(data.data(), data.data() + data.size(), number);
  if (error != std::errc() || end != data.data() + data.size()) return std::nullopt;
  return number;
}

/// Returns the cause of an error: `data` are not a permit count.
inline std::string bad_permit_count(std::string_view data) {
  return "the znode " + std::string(kCountNode) + " has the data \"" + printable(data, 32) +
         "\", which is not a permit count; call set_permits()";
}

}  // namespace zklock::core
