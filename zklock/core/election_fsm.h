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
/// | state       | input                        | condition      | next        | effects          |
/// |-------------|------------------------------|----------------|-------------|------------------|
/// | idle        | contend                      |                | contending  | contend          |
/// |             | close                        |                | closed      |                  |
/// | contending  | on_granted                   |                | leading     | begin            |
/// |             | on_failed                    | for_good       | failed      |                  |
/// |             |                              | otherwise      | backing_off | pause            |
/// |             | withdraw                     |                | idle        | cancel           |
/// |             | close                        |                | closed      | cancel           |
/// | backing_off | on_pause_over                |                | contending  | contend          |
/// |             | withdraw                     |                | idle        |                  |
/// |             | close                        |                | closed      |                  |
/// | leading     | on_lost, interrupt, withdraw |                | ending      | stop             |
/// |             | close                        |                | closing     | stop             |
/// |             | on_finished                  | with error (1) | backing_off | stop, release,   |
/// |             |                              |                |             | pause            |
/// |             |                              | will_contend() | contending  | stop, release,   |
/// |             |                              |                |             | contend          |
/// |             |                              | otherwise      | idle        | stop, release    |
/// | ending      | on_finished                  | with error (1) | backing_off | release, pause   |
/// |             |                              | will_contend() | contending  | release, contend |
/// |             |                              | otherwise      | idle        | release          |
/// |             | close                        |                | closing     |                  |
/// | closing     | on_finished                  |                | closed      | release          |
/// | failed      | contend                      |                | contending  | contend          |
/// |             | withdraw                     |                | idle        |                  |
/// |             | close                        |                | closed      |                  |
/// | idle,       | on_granted                   |                | the same    | release_late     |
/// | leading,    |                              |                |             |                  |
/// | ending,     |                              |                |             |                  |
/// | closing,    |                              |                |             |                  |
/// | failed,     |                              |                |             |                  |
/// | backing_off,|                              |                |             |                  |
/// | closed      |                              |                |             |                  |
///
/// (1) will_contend() is true, and the leader's function threw (LeaderEnd::threw).
///
/// While leading and ending, contend() and withdraw() decide whether the candidate will contend
/// afterwards; the last call counts. If neither was called, the candidate will contend if the
/// leader's function was not run (LeaderEnd::not_run), or if `again` of the constructor is true.
///
/// Every attempt to be elected has a number, and its leadership has that number too. The table is
/// for the last attempt. Inputs of an earlier attempt change nothing, in every state. A late grant
/// of an earlier attempt is released (release_late).
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

/// Requests and notifications. The driver carries them out in the order in which an input returns
/// them.
enum class ElectionEffect {
  contend,       ///< acquire the lock, as attempt()
  cancel,        ///< cancel the acquire
  pause,         ///< call on_pause_over(attempt()) a little later
  begin,         ///< begin the leadership attempt()
  stop,          ///< notify the leader that its leadership ends
  release,       ///< release the lock
  release_late,  ///< release this late grant
};

using ElectionEffects = std::vector<ElectionEffect>;

/// How the call of the leader's function ended.
enum class LeaderEnd {
  returned,
  threw,
  not_run,  ///< the leadership ended before the function began
};

/// Returns whether trying again is useless: the cause does not pass without the user's help.
bool ends_contention(Errc error) noexcept;

template <class Machine>
class InvariantCheck;

/// Contends, leads and contends again. Pure: each input returns effects.
///
/// Thread-safety: none. The driver calls it under one mutex.
class ElectionFsm {
 public:
  using Attempt = std::uint64_t;

  /// `again`: after a leadership it contends again without contend().
  explicit ElectionFsm(bool again) noexcept : again_(again) {}

  CandidateState state() const noexcept { return state_; }
  /// The number of the last attempt; 0 before the first.
  Attempt attempt() const noexcept { return attempt_; }
  /// Returns whether it contends, or will contend after the present leadership or pause.
  bool will_contend() const noexcept;

  // Every input returns no effects if there is nothing to do.
  ElectionEffects contend();
  ElectionEffects on_granted(Attempt attempt);
  ElectionEffects on_failed(Attempt attempt, bool for_good);
  ElectionEffects on_pause_over(Attempt attempt);
  ElectionEffects on_lost(Attempt attempt);
  /// The call of the leader's function has ended, and the leadership with it.
  ElectionEffects on_finished(Attempt attempt, LeaderEnd end = LeaderEnd::returned);
  /// Ends the present leadership as a loss does.
  ElectionEffects interrupt();
  /// Ends the present leadership or acquire. The candidate does not contend until contend() is
  /// called.
  ElectionEffects withdraw();
  ElectionEffects close();

 private:
  friend class InvariantCheck<ElectionFsm>;
  static bool can_follow(CandidateState before, CandidateState after) noexcept;
  void assert_invariants() const noexcept;
  bool is_current(Attempt attempt, CandidateState state) const noexcept {
    return attempt == attempt_ && state == state_;
  }
  ElectionEffects begin_attempt();

  const bool again_;
  CandidateState state_ = CandidateState::idle;
  Attempt attempt_ = 0;
  /// While leading or ending: whether it contends afterwards; empty: `again_` decides.
  std::optional<bool> afterwards_;
};

}  // namespace zklock::core
