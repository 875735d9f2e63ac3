// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <string_view>

#include "zklock/core/znode_name.h"

namespace zklock::core {

/// The prefix of a request znode, by which a client requests the release of a contender. The client
/// creates it beside the contender's znode, and the contender watches for it. The client could
/// instead delete the contender's znode, but then the lock would be handed off before the holder is
/// notified. Nor does the client write to the contender's znode: a change of its data announces the
/// release.
///
/// The request znode's name has the contender's sequence number. It is not a contender's name;
/// Curator's contenders sort it last. The data are `kReleaseRequestAsks` or
/// `kReleaseRequestForces`.
inline constexpr std::string_view kReleaseRequestPrefix = "release-request-";
inline constexpr std::string_view kReleaseRequestAsks = "ask";
inline constexpr std::string_view kReleaseRequestForces = "force";

/// Returns the name of the request znode for the contender with that sequence number.
inline std::string release_request_node(Sequence of) {
  return ZnodeName::make(kReleaseRequestPrefix, of).text;
}

}  // namespace zklock::core
