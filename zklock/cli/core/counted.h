// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace zklock::cli {

/// Returns a count and the words for it: "1 lock", "2 locks". The plural has an "s" unless it is
/// given.
[[nodiscard]] inline std::string counted(std::size_t count, std::string_view one,
                                         std::string_view many = {}) {
  std::string text = std::to_string(count) + ' ';
  if (count == 1 || many.empty()) {
    text += one;
    if (count != 1) text += 's';
  } else {
    text += many;
  }
  return text;
}

}  // namespace zklock::cli
