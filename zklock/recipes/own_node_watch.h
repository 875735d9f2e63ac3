// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

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
/// | any     | disarm(), forget()                   | due; or young, as it was    |
/// |         | renew()                              | young                       |
///
/// What was asked for before the last three is not listened to.
///
/// Thread-safety: within a Section of the engine. Part of its place.
class OwnNodeWatch {
 public:
  explicit OwnNodeWatch(Place& place) : place_(place) {}

  /// The contender gets another node.
  void renew() noexcept;
  void disarm() noexcept;
  /// Its node is being deleted: the servers' watch goes with it, and need not be removed.
  void forget() noexcept;
  void tick();

 private:
  template <class Step>
  auto step(Step step);
  void arm();

  Place& place_;
  client::RequestId id_{};
  std::uint64_t round_ = 0;
  bool due_ = false;
};

}  // namespace zklock::recipes
