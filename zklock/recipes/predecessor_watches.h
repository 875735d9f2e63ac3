// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>

#include "zklock/client/coordinator.h"
#include "zklock/core/few.h"
#include "zklock/fencing_token.h"

namespace zklock::recipes {

class Place;

/// The watches on those for whom a contender waits: one, or several before a semaphore. What they
/// tell goes to the contender's machine. While the one is a node of the same client and session, the
/// contender is among the engine's OwnSuccessors.
///
/// Thread-safety: within a Section of the engine. Part of its place.
class PredecessorWatches {
 public:
  /// The child `node`, on the session of the own node. `place`: whose part this is.
  void watch(Place& place, const std::string& node, core::SessionId session);
  // For the next two, too, `place` is whose part this is.
  /// Ends them all.
  void end(Place& place) noexcept;
  /// They were of a node, or a session, that is gone or on its way.
  void drop(Place& place) noexcept;
  /// Whether the connection is the one on which the last one was asked for.
  bool on_same_connection(const Place& place) const noexcept;
  /// The czxid of the predecessor that was watched last.
  FencingToken token() const noexcept { return token_; }

 private:
  void answered(Place& place, std::uint32_t serial, const client::Reply& reply);
  /// False: it was called off, or has fired.
  bool forget(Place& place, std::uint32_t serial) noexcept;

  struct Watch {
    std::uint32_t serial;
    client::RequestId id;
  };

  core::Few<Watch> watches_;
  FencingToken token_{};
  std::uint32_t last_ = 0;
  std::uint32_t connection_ = 0;  ///< its last digits
};

}  // namespace zklock::recipes
