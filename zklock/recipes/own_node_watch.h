// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "zklock/client/coordinator.h"

namespace zklock::recipes {

class Place;

/// The watch on a contender's own node, so that somebody else's deleting it is noticed. Most nodes
/// live shorter than a tick, and are not watched.
///
/// | state   | event                                | next                        |
/// |---------|--------------------------------------|-----------------------------|
/// | young   | tick()                               | due                         |
/// | due     | tick()                               | watched                     |
/// | watched | changed, or the request failed       | due                         |
/// |         | deleted, or no node                  | due; the contender is told  |
/// | any     | disarm()                             | due; or young, as it was    |
/// |         | renew()                              | young                       |
///
/// Thread-safety: within a Section of the engine. Part of its place.
class OwnNodeWatch {
 public:
  explicit OwnNodeWatch(Place& place) : place_(place) {}

  /// The contender gets another node.
  void renew() noexcept;
  void disarm() noexcept;
  void tick();

 private:
  void arm();

  Place& place_;
  client::RequestId id_{};
  bool due_ = false;
};

}  // namespace zklock::recipes
