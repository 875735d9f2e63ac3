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

/// How much of the past is remembered, besides the holds of the last snapshot. Beyond it, the holds
/// that ended first are forgotten.
struct HistoryBounds {
  std::size_t spans = 20'000;      ///< of all locks, 500 bytes each; 0: nothing
  std::size_t spans_of_lock = 50;  ///< of one lock
  std::size_t gaps = 50;
  std::size_t unread = 10'000;     ///< paths that only earlier snapshots could not read
  std::size_t name_bytes = 1'024;  ///< of a lock path or znode name
};

/// A hold of a lock, or its lock delay, as a series of snapshots shows it.
struct PastSpan {
  Participant holder;  ///< in the last snapshot; empty: a delay
  bool is_delay = false;
  /// Begin of the last pass without it before `begin`. min(): unknown.
  WallTime absent;
  /// The time of the grant, or the end of the first pass with it.
  WallTime begin;
  bool is_exact = false;  ///< `begin` is the time of the grant
  /// Begin of the last pass with it, but not before `begin`.
  WallTime seen;
  /// End of the first pass without it, so it ended after `seen`. For an exclusive hold, the exact
  /// time of the next grant if that is earlier. Unset while it lasts, or may last.
  std::optional<WallTime> ended = std::nullopt;
  std::size_t most_waiting = 0;  ///< highest number of waiting contenders
};

/// The past of one lock.
struct LockPast {
  /// Between here and the last snapshot, all is known that snapshots show. Earlier holds may be
  /// missing.
  WallTime since;
  bool is_cut = false;               ///< the last snapshot does not list all holders
  std::vector<PastSpan> spans = {};  ///< by the first snapshot
};

/// The holds that a series of snapshots shows. No snapshot is stored.
///
/// Two snapshots show one hold if its token is equal or, if one has no token, its znode. So
/// contenders of one client that share a znode are one hold. A hold that begins and ends between
/// two snapshots is not seen. A hold that two snapshots show has lasted in between, even in a gap.
///
/// | two snapshots                         | conclusion                                          |
/// |---------------------------------------|-----------------------------------------------------|
/// | only the first has the hold           | it ended in between, but not how                    |
/// | a later one has its token again       | it lasts: a survey can miss a replaced znode        |
/// | only the second has the hold          | a grant before the first or after the second is     |
/// |                                       | the time of a wrong clock, and is not used          |
/// | the second has a lock delay           | a hold was lost in between                          |
/// | more time is between them than usual  | a gap: other holds may have existed                 |
/// | the second could not read the path    | a gap of this lock, until a later one has read it   |
/// | the second does not list all holders  | likewise; holds that are not listed may last        |
///
/// Holders are not listed if there are many, if the permit count of a semaphore is unreadable, or
/// if a name is longer than HistoryBounds::name_bytes. A lock with such a path has no past.
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
  /// is a gap. A snapshot that does not begin after the end of the last one, because the clock was
  /// set back, begins anew.
  void on_snapshot(const Snapshot& snapshot, std::chrono::milliseconds next_within);

  /// Returns the past of a lock. A lock that has none was free since since().
  LockPast past_of(std::string_view path) const;
  const Pasts& pasts() const noexcept { return pasts_; }
  /// Returns the last end of a span. Returns std::nullopt if there is none, a span lasts or may
  /// last, or nothing is known up to the last snapshot.
  std::optional<WallTime> free_since(const LockPast& past) const noexcept;
  /// Returns the begin of the last snapshot.
  WallTime as_of() const noexcept { return pass_.begin; }
  /// Returns the time before which holds may be missing in each past.
  WallTime since() const noexcept { return since_; }
  const std::vector<Gap>& gaps() const noexcept { return gaps_; }
  const HistoryBounds& bounds() const noexcept { return bounds_; }

 private:
  struct Pass {
    WallTime begin;
    WallTime end;
  };

  void record_unread(const Snapshot& snapshot);
  /// Returns the end of the first pass that read the path again. Returns max() if the last pass has
  /// not read it, and min() if each pass has.
  WallTime unread_until(std::string_view path) const;
  /// Returns LockPast::since of a path that no past is stored for.
  WallTime known_since(std::string_view path) const;
  void record(LockPast& past, const SurveyedLock& lock);
  bool lists_all_holders(const SurveyedLock& lock) const;
  /// Returns the times of the spans that the last snapshot does not have: when they ended or, if
  /// they may last, when they were seen. A past without spans counts as one.
  std::vector<WallTime> ends_of(const LockPast& past) const;
  void forget_until(LockPast& past, WallTime time) const;
  void forget();

  const HistoryBounds bounds_;
  WallTime since_;
  Pass before_;  ///< the last pass but one
  Pass pass_;    ///< of the last snapshot
  std::chrono::milliseconds next_within_{0};
  std::vector<Gap> gaps_;
  /// unread_until() by path. A path that ends with a slash stands for the descendants only.
  std::map<std::string, WallTime, std::less<>> unread_;
  Pasts pasts_;
};

}  // namespace zklock::cli
