// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <cstddef>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "zklock/cli/core/lock_facts.h"
#include "zklock/cli/core/snapshot.h"
#include "zklock/participant.h"

namespace zklock::cli {

/// How much of the past is remembered. Beyond it, the holds that ended first are forgotten.
struct HistoryBounds {
  std::size_t spans = 20'000;      ///< of all locks; each needs about 500 bytes
  std::size_t spans_of_lock = 50;  ///< of one lock
  std::size_t gaps = 50;
};

/// A hold of a lock, or its lock delay, as a series of snapshots shows it.
struct PastSpan {
  Participant holder;  ///< in the last snapshot; empty: a delay
  bool is_delay = false;
  WallTime begin;         ///< the grant, or the first pass
  bool is_exact = false;  ///< `begin` is the time of the grant
  WallTime seen;          ///< begin of the last pass with it
  /// End of the first pass without it, so it ended after `seen`. Unset while it lasts, or may last.
  std::optional<WallTime> ended = std::nullopt;
  std::size_t most_waiting = 0;  ///< highest number of waiting contenders
};

/// The past of one lock.
struct LockPast {
  /// Between here and the last snapshot, all is known that snapshots show. Earlier holds may be
  /// missing.
  WallTime since;
  std::vector<PastSpan> spans = {};  ///< by the first snapshot
};

/// The holds that a series of snapshots shows. No snapshot is stored.
///
/// Two snapshots show one hold if its token is equal or, without a token, its znode. So contenders
/// of one client that share a znode are one hold. A hold that begins and ends between two snapshots
/// is not seen. A hold that two snapshots show has lasted in between, even in a gap.
///
/// | two snapshots                               | conclusion                                    |
/// |---------------------------------------------|-----------------------------------------------|
/// | only the first has the hold                 | it ended in between, but not how              |
/// | the second has a lock delay                 | a hold was lost in between                    |
/// | more time is between them than usual        | a gap: other holds may have existed           |
/// | the second could not read the path          | a gap of this lock, up to the second          |
/// | the second does not list all holders        | likewise; holds that are not listed may last  |
///
/// A release, a forced release and a loss without a lock delay look alike: the znode is deleted.
/// Thread-safety: none; pure.
class LockHistory {
 public:
  struct Gap {
    WallTime from;
    WallTime to;
  };
  using Pasts = std::map<std::string, LockPast, std::less<>>;

  explicit LockHistory(const HistoryBounds& bounds = {}) : bounds_(bounds) {}

  /// `next_within`: if the pass of the next snapshot ends later after the begin of this one, there
  /// is a gap. A snapshot that is not later than the last one, after a change of the clock, begins
  /// anew.
  void on_snapshot(const Snapshot& snapshot, std::chrono::milliseconds next_within);

  /// Returns the past of a lock. A lock that has none was free since since().
  LockPast past_of(std::string_view path) const;
  const Pasts& pasts() const noexcept { return pasts_; }
  /// Returns the time of the last snapshot.
  WallTime as_of() const noexcept { return now_; }
  /// Returns the time before which holds may be missing in each past.
  WallTime since() const noexcept { return since_; }
  const std::vector<Gap>& gaps() const noexcept { return gaps_; }
  const HistoryBounds& bounds() const noexcept { return bounds_; }

 private:
  void record(LockPast& past, const SurveyedLock& lock);
  void forget();

  const HistoryBounds bounds_;
  WallTime since_;
  WallTime now_;  ///< begin of the pass of the last snapshot
  WallTime end_;  ///< end of this pass
  std::chrono::milliseconds next_within_{0};
  std::vector<Gap> gaps_;
  std::vector<std::string> unread_;  ///< paths that the last snapshot could not read
  Pasts pasts_;
};

}  // namespace zklock::cli
