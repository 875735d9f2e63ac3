// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string_view>

namespace zklock::testing {

// A digest credential with all permissions on every TestServer, regardless of ACLs.
inline constexpr std::string_view kSuperDigest = "super:zklock";

}  // namespace zklock::testing
