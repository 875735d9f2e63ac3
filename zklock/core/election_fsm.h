// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "zklock/error.h"

namespace zklock::core {

/// The states of one candidate for leadership. A leadership begins with a grant. It is stopped
/// exactly once, and it is over when the leader's function has finished. Only then the following
/// one begins.
///
/// | state          | event                        | next                   | effects           |
/// |----------------|------------------------------|------------------------|-------------------|
/// | idle           | wanted                       | contending             | contend           |
/// | contending     | granted                      | leading                | begin             |
/// |                | failed, may pass             | backing_off            | pause             |
/// |                | failed, for good             | failed                 |                   |
/// |                | withdrawn                    | idle                   | cancel            |
/// |                | closed                       | closed                 | cancel            |
/// | backing_off    | due                          | contending             | contend           |
/// |                | withdrawn                    | idle                   |                   |
/// |                | closed                       | closed                 |                   |
/// | leading        | lost, interrupted, withdrawn | ending                 | stop              |
/// |                | closed                       | closing                | stop              |
/// |                | finished                     | contending or idle (1) | stop, release (1) |
/// |                | had_no_turn                  | leading; wanted (2)    |                   |
/// | ending         | closed                       | closing                |                   |
/// |                | had_no_turn                  | ending; wanted (2)     |                   |
/// |                | finished                     | contending or idle (1) | release (1)       |
/// | closing        | finished                     | closed                 | release           |
/// | failed         | wanted                       | contending             | contend           |
/// |                | withdrawn                    | idle                   |                   |
/// | idle or failed | closed                       | closed                 |                   |
/// | closed         |                              | (final)                |                   |
///
/// 1. contending, with the further effect `contend`, if wanted() was called since the grant and
///    withdrawn() not later. So too if neither was called, and the policy is `again`. Otherwise
///    idle. If the leader's function failed, backing_off and `pause` replace contending and
///    `contend`.
/// 2. As if wanted() were called, unless withdrawn() was called since the grant.
///
/// Every attempt to be elected has a number, and its leadership has that number too. Replies and
/// events of an earlier attempt change nothing. A grant of an earlier attempt is released.
enum class CandidateState {
  idle,
  contending,
  backing_off,
  leading,
  ending,
  closing,
  failed,
  closed,
};

/// Requests and notifications that the driver carries out in this order.
enum class ElectionEffect {
  contend,    ///< acquire the lock, as attempt()
  cancel,     ///< cancel the acquire
  pause,      ///< call due(attempt()) a little later
  begin,      ///< begin the leadership attempt()
  stop,       ///< notify the leader that its leadership ends
  release,    ///< release the lock
  give_back,  ///< release this late grant
};

using ElectionEffects = std::vector<ElectionEffect>;

/// Returns whether trying again is useless: the cause does not pass without the user's help.
bool ends_contention(Errc error) noexcept;

/// Contends, leads and contends again. Pure: each event returns effects.
///
/// Thread-safety: none. The driver calls it under one mutex.
class ElectionFsm {
 public:
  using Attempt = std::uint64_t;

  /// `again`: after a leadership it contends again without wanted().
  explicit ElectionFsm(bool again) noexcept : again_(again) {}

  CandidateState state() const noexcept { return state_; }
  /// The number of the last attempt; 0 before the first.
  Attempt attempt() const noexcept { return attempt_; }
  /// Returns whether it contends, or will contend after the present leadership or pause.
  bool wants() const noexcept;

  /// The candidate is to contend. All inputs return no effects if there is nothing to do.
  ElectionEffects wanted();
  ElectionEffects granted(Attempt attempt);
  ElectionEffects failed(Attempt attempt, bool for_good);
  ElectionEffects due(Attempt attempt);
  ElectionEffects lost(Attempt attempt);
  /// The leadership was lost or interrupted before the leader's function began. The candidate
  /// contends once more, unless it was withdrawn or closed.
  void had_no_turn(Attempt attempt) noexcept;
  /// The leader's function has returned. `failed`: it ended with an error.
  ElectionEffects finished(Attempt attempt, bool failed = false);
  /// Ends the present leadership as a loss does.
  ElectionEffects interrupted();
  /// Ends the present leadership or acquire. The candidate does not contend until wanted() is
  /// called.
  ElectionEffects withdrawn();
  ElectionEffects closed();

 private:
  bool is_current(Attempt attempt, CandidateState state) const noexcept {
    return attempt == attempt_ && state == state_;
  }
  ElectionEffects contend();

  const bool again_;
  CandidateState state_ = CandidateState::idle;
  Attempt attempt_ = 0;
  /// While leading or ending: whether it contends afterwards; empty: the policy decides.
  std::optional<bool> afterwards_;
};

}  // namespace zklock::core
