// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string_view>

namespace zklock::cli {

/// The text of page.html, from embed.cmake.
extern const std::string_view kPage;

}  // namespace zklock::cli
