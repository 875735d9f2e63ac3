// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "zklock/core/node_name.h"
#include "zklock/fencing_token.h"

namespace zklock::core {

/// What a contender with a lock delay puts beside its node before it holds, and takes away with it
/// when it lets go: in one transaction, so that nobody sees one of them without the other. It is
/// persistent: when the node goes in any other way, the marker stays behind, and says to whoever is
/// next how long to wait. It is none of a contender; among Curator's contenders
/// it sorts last.
///
/// "delay-<milliseconds>-<token>-<number>", both of the contender's node: the number to find that
/// among the children, the token because the numbers begin again where the path is made anew. So
/// nobody takes another's marker for his own, to keep it or to remove it.
struct DelayMarker {
  std::string name;
  std::chrono::milliseconds length{};
  Sequence of;

  static DelayMarker make(std::chrono::milliseconds length, FencingToken token, Sequence of);
  /// Nothing for every name that make() does not make, or of a length that is none.
  static std::optional<DelayMarker> parse(std::string_view name);
};

/// What is longer is a mistake, and would keep everybody waiting for it.
inline constexpr std::chrono::hours longest_lock_delay{24};

/// The markers whose contender is not among the children: it was lost, not released.
std::vector<DelayMarker> orphans(std::span<const std::string> children);

}  // namespace zklock::core
