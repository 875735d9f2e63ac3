// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "zklock/recipes/ticked_watch.h"

namespace zklock::recipes {

/// The watch on the children of the path, which shows new contenders while a place is idle. It is
/// requested at once, not by a tick, and stays while the place is held again.
///
/// | state   | event                         | next                                         |
/// |---------|-------------------------------|----------------------------------------------|
/// | off     | look()                        | asking                                       |
/// | asking  | the children were listed      | armed; LocalQueue::listed()                  |
/// |         | the request failed            | off; LocalQueue::listed()                    |
/// | armed   | a child was created or deleted| off; LocalQueue::somebody_came()             |
/// | any     | end()                         | off                                          |
///
/// Thread-safety: none. REQUIRES: within a Section of the engine. Part of its place.
class ArrivalWatch final : public TickedWatch {
 public:
  using TickedWatch::TickedWatch;

  /// Lists the children and sets the watch. Does nothing if the watch is asking or armed.
  void look() { tick(); }
  /// Returns whether no event has arrived since the children were listed.
  bool armed() const noexcept { return armed_; }
  void end() noexcept;

 private:
  void begin() override;

  bool armed_ = false;  ///< false: off or asking
};

}  // namespace zklock::recipes
