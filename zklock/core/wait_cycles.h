// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <optional>
#include <span>
#include <vector>

namespace zklock::core {

/// One owner waits for another: it cannot go on before the other releases. An owner with several
/// edges waits for all of its blockers. So a cycle lasts until something else ends one of its
/// waits. Owners are numbers of the caller's choice.
struct WaitEdge {
  std::size_t waiter = 0;
  std::size_t blocker = 0;
  bool is_certain = false;  ///< nothing else can end the wait
};

/// A cycle without repeated owners.
struct WaitCycle {
  /// Indices of its edges, in order: the blocker of each edge is the waiter of the next one. The
  /// last blocker is the first waiter.
  std::vector<std::size_t> edges;
  bool is_certain = false;  ///< all of its edges are certain
};

/// Returns a shortest cycle through `owner`. If any of them is_certain, returns a shortest of
/// those. Returns std::nullopt if there is no cycle. Pure.
std::optional<WaitCycle> cycle_through(std::span<const WaitEdge> edges, std::size_t owner);

/// Returns cycles such that each owner that is in a cycle is in one of them. Those with is_certain
/// come first; each owner in such a cycle is in one of them. Pure.
std::vector<WaitCycle> wait_cycles(std::span<const WaitEdge> edges);

}  // namespace zklock::core
