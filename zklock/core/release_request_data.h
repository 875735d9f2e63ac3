// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <string_view>

#include "zklock/core/znode_name.h"

namespace zklock::core {

/// The prefix of a request znode. A client that requests a contender's release creates it beside
/// the contender's znode, and the contender watches for it. Only its creator can write a lock
/// znode. Deleting that from outside would hand off the lock before the holder is notified. The
/// request znode's name has the contender's sequence number. It is not a contender's name;
/// Curator's contenders sort it last. The data are `release_request_asks` or
/// `release_request_forces`.
inline constexpr std::string_view release_request_prefix = "release-request-";
inline constexpr std::string_view release_request_asks = "ask";
inline constexpr std::string_view release_request_forces = "force";

inline std::string release_request_path(Sequence of) {
  return ZnodeName::make(release_request_prefix, of).text;
}

}  // namespace zklock::core
