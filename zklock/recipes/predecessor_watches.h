// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>

#include "zklock/client/coordinator.h"
#include "zklock/core/few.h"

namespace zklock::recipes {

class Place;

/// The watches on those for whom a contender waits: one, or several before a semaphore. What they
/// tell goes to the contender's machine.
///
/// Thread-safety: within a Section of the engine. Part of its place.
class PredecessorWatches {
 public:
  /// The child `node`, on the session of the own node. `place`: whose part this is.
  void watch(Place& place, const std::string& node, core::SessionId session);
  /// Ends them all.
  void end(client::Coordinator& coordinator) noexcept;
  /// They were of a node, or a session, that is gone.
  void drop() noexcept { watches_.clear(); }
  /// Whether the connection is the one on which the last one was asked for.
  bool on_same_connection(const Place& place) const noexcept;

 private:
  /// False: it was called off, or has fired.
  bool forget(std::uint32_t serial) noexcept;

  struct Watch {
    std::uint32_t serial;
    client::RequestId id;
  };

  core::Few<Watch> watches_;
  std::uint32_t last_ = 0;
  std::uint32_t connection_ = 0;  ///< its last digits
};

}  // namespace zklock::recipes
