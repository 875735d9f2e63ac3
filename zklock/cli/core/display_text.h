// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <string_view>

namespace zklock::cli {

/// Returns `text` for a terminal or a log. It replaces by '?' what could change the display of
/// other text. That is control characters, invalid UTF-8, marks of text direction, characters
/// without width, and private ones. The texts of znodes, paths and names come from other programs,
/// so each output passes them through this function.
[[nodiscard]] std::string display_text(std::string_view text);

}  // namespace zklock::cli
