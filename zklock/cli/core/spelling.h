// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <span>
#include <string_view>

namespace zklock::cli {

/// Returns the name that was probably meant: at most two characters are missing, extra or
/// different, and fewer than
/// `written` has. Returns an empty text if there is none.
[[nodiscard]] std::string_view closest_name(std::string_view written,
                                            std::span<const std::string_view> names);

}  // namespace zklock::cli
