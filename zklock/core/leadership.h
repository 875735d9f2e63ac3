// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "zklock/error.h"

namespace zklock::core {

/// Where one candidate for leadership stands. A leadership begins with a grant, is told to stop
/// once, and is over when whoever leads has finished: only then may the next one begin.
///
/// | state       | event                        | then                         | effects         |
/// |-------------|------------------------------|------------------------------|-----------------|
/// | idle        | wanted                       | contending                   | contend         |
/// | contending  | granted                      | leading                      | begin           |
/// |             | failed, may pass             | backing_off                  | pause           |
/// |             | failed, for good             | failed                       |                 |
/// |             | withdrawn                    | idle                         | cancel          |
/// |             | closed                       | closed                       | cancel          |
/// | backing_off | due                          | contending                   | contend         |
/// |             | withdrawn                    | idle                         |                 |
/// |             | closed                       | closed                       |                 |
/// | leading     | lost, interrupted, withdrawn | ending                       | stop            |
/// |             | closed                       | closing                      | stop            |
/// |             | finished                     | contending or idle (*)       | stop, release.. |
/// |             | had no turn                  | the same, and wanted         |                 |
/// | ending      | closed                       | closing                      |                 |
/// |             | had no turn                  | the same, and wanted         |                 |
/// |             | finished                     | contending or idle (*)       | release..       |
/// | closing     | finished                     | closed                       | release         |
/// | failed      | wanted                       | contending                   | contend         |
/// |             | withdrawn                    | idle                         |                 |
/// | idle, failed| closed                       | closed                       |                 |
/// | closed      |                              | (final)                      |                 |
///
/// (*) contending, with the effect `contend` at the end, if it was wanted since the grant and not
/// withdrawn later, or if nothing was said and the policy is `again`; else idle. When whoever led
/// has failed: backing_off, with the effect `pause`, instead of contending.
///
/// Every attempt to be elected has a number, and so has the leadership that comes of it: answers
/// and events of an earlier one change nothing. A grant that comes too late is given back.
enum class LeadershipState {
  idle,
  contending,
  backing_off,
  leading,
  ending,
  closing,
  failed,
  closed,
};

/// What the machine asks of its driver, in this order.
enum class LeadershipEffect {
  contend,    ///< ask for the lock, as attempt()
  cancel,     ///< do not ask any more
  pause,      ///< call due(attempt()) a little later
  begin,      ///< it leads: leadership number attempt()
  stop,       ///< tell whoever leads that it is over
  release,    ///< let go of the lock
  give_back,  ///< the grant that came is not wanted: release it
};

using LeadershipEffects = std::vector<LeadershipEffect>;

/// Whether there is no use in trying again: nothing that others do can mend it.
bool ends_contention(Errc error) noexcept;

/// Contends, leads and contends again: pure, one event in, effects out.
///
/// Thread-safety: none; its driver calls it under one mutex.
class LeadershipFsm {
 public:
  using Attempt = std::uint64_t;

  /// `again`: after a leadership it contends for the next one by itself.
  explicit LeadershipFsm(bool again) noexcept : again_(again) {}

  LeadershipState state() const noexcept { return state_; }
  /// The number of the last attempt; 0 before the first.
  Attempt attempt() const noexcept { return attempt_; }
  /// Whether it is in the queue, leads, or will contend after the present leadership.
  bool wants() const noexcept;

  /// Nothing when there is nothing to do.
  LeadershipEffects wanted();
  LeadershipEffects granted(Attempt attempt);
  LeadershipEffects failed(Attempt attempt, bool for_good);
  LeadershipEffects due(Attempt attempt);
  LeadershipEffects lost(Attempt attempt);
  /// The leadership ended, lost or interrupted, before the leader's function could begin. So it does
  /// not count: the candidate contends once more, unless it was withdrawn or closed.
  void had_no_turn(Attempt attempt) noexcept;
  /// Whoever led has returned, or `failed`.
  LeadershipEffects finished(Attempt attempt, bool failed = false);
  /// The present leadership is to end; what follows is as after a loss.
  LeadershipEffects interrupted();
  /// As interrupted(), and it leaves the queue until it is wanted again.
  LeadershipEffects withdrawn();
  LeadershipEffects closed();

 private:
  bool is_current(Attempt attempt, LeadershipState state) const noexcept {
    return attempt == attempt_ && state == state_;
  }
  LeadershipEffects contend();

  const bool again_;
  LeadershipState state_ = LeadershipState::idle;
  Attempt attempt_ = 0;
  /// While leading or ending: whether it contends afterwards, where that was said.
  std::optional<bool> afterwards_;
};

}  // namespace zklock::core
