// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <string_view>

#include "zklock/core/node_name.h"

namespace zklock::core {

/// Who wants a contender to let go puts a marker beside its node, which the contender watches for:
/// nobody but its creator may write a lock node, and deleting it from outside would pass the lock
/// on before the holder knows. The name holds the contender's number, and is none of a contender;
/// among Curator's contenders it sorts last. The data say how it is meant.
inline constexpr std::string_view revocation_prefix = "revoke-";
inline constexpr std::string_view revocation_asks = "ask";
inline constexpr std::string_view revocation_forces = "force";

inline std::string revocation_marker(Sequence of) {
  return NodeName::make(revocation_prefix, of).text;
}

}  // namespace zklock::core
