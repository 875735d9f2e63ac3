// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "zklock/core/znode_name.h"
#include "zklock/fencing_token.h"

namespace zklock::core {

/// The delay marker of a contender with a lock delay: a persistent child of the lock path. The
/// contender creates it before it holds. On release, one transaction deletes the marker and the
/// contender's znode, so no client sees only one of them. If the znode is deleted in another way,
/// the marker usually remains: it is orphaned, and says how long the following contender must wait.
/// Its name is not a contender's; Curator's contenders sort it last.
///
/// Name: "delay-<milliseconds>-<token>-<sequence number>". The token and the sequence number are
/// those of the contender's znode. The sequence number finds that znode among the children.
/// Sequence numbers start again if the path is recreated, but tokens do not. So two contenders
/// never have markers of one name.
struct DelayMarker {
  std::string name;
  std::chrono::milliseconds length{};
  Sequence owner_sequence;  ///< sequence number of the contender's znode

  static DelayMarker make(std::chrono::milliseconds length, FencingToken token,
                          Sequence owner_sequence);
  /// Returns std::nullopt for every name that make() does not make, and for a length out of range.
  static std::optional<DelayMarker> parse(std::string_view name);
};

/// The largest length. A longer one is taken for a mistake: every contender would wait for it.
inline constexpr std::chrono::hours kLongestLockDelay{24};

/// The delay markers that concern one contender.
struct DelayMarkers {
  std::string own = {};  ///< name of its own; empty: none requested
  bool is_own_created = false;
  /// Those that block its grant and are not yet deleted.
  std::vector<DelayMarker> orphans = {};

  /// Returns whether its own marker exists, or is being created. A loss leaves it behind.
  bool has_own() const noexcept { return !own.empty(); }
};

/// Returns the markers whose contender's znode is not among the children: it was lost, not
/// released.
std::vector<DelayMarker> orphans(std::span<const std::string> children);

}  // namespace zklock::core
