// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "zklock/engine/ticked_watch.h"

namespace zklock::detail {

/// The watch on the children of the path, which shows new contenders while a lock node is idle. It
/// is requested at once, not by a tick, and stays while the lock node is held again.
///
/// | state  | event                          | next                         |
/// |--------|--------------------------------|------------------------------|
/// | off    | look()                         | asking                       |
/// | asking | the children were listed       | armed; Cohort::listed()      |
/// |        | the request failed             | off; Cohort::listed()        |
/// | armed  | a child was created or deleted | off; Cohort::somebody_came() |
/// | any    | end()                          | off                          |
///
/// Thread-safety: none. REQUIRES: within a Section of the path lock. Part of its lock node.
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

}  // namespace zklock::detail
