// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "zklock/recipes/ticked_watch.h"

namespace zklock::recipes {

/// The watch of a place that is kept idle, for others that come. It is asked for at once, not by a
/// tick, and stays while the place is held again.
///
/// | state   | event                         | next                                         |
/// |---------|-------------------------------|----------------------------------------------|
/// | off     | look()                        | asking                                       |
/// | asking  | the children                  | armed; the local queue is told               |
/// |         | the request failed            | off; the local queue is told                 |
/// | armed   | a child came or went          | off; the local queue is told                 |
/// | any     | end()                         | off                                          |
///
/// Thread-safety: within a Section of the engine. Part of its place.
class ArrivalWatch final : public TickedWatch {
 public:
  using TickedWatch::TickedWatch;

  /// Unless it is asking, or armed.
  void look() { tick(); }
  /// Nobody has come since the children were listed, as far as the servers have told.
  bool armed() const noexcept { return armed_; }
  void end() noexcept;

 private:
  void begin() override;

  bool armed_ = false;  ///< else off, or asking
};

}  // namespace zklock::recipes
