// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "locks.h"
#include "zklock/cli/core/lock_history.h"

namespace zklock::cli::testing {

/// A series of snapshots, two seconds between them. Times are seconds since its begin.
class Series {
 public:
  explicit Series(const HistoryBounds& bounds = {}) : history(bounds) {}

  void show(std::vector<SurveyedLock> locks, std::vector<std::string> unreadable = {},
            std::chrono::seconds duration = 0s) {
    Snapshot snapshot = snapshot_of(std::move(locks));
    snapshot.as_of = now;
    snapshot.duration = duration;
    snapshot.unreadable = std::move(unreadable);
    show_snapshot(snapshot);
  }
  void show_snapshot(const Snapshot& snapshot) {
    history.on_snapshot(snapshot, 6s);
    now += snapshot.duration + 2s;
  }
  std::vector<PastSpan> spans(const std::string& path = "/a") const {
    return history.past_of(path).spans;
  }
  std::int64_t since(const std::string& path = "/a") const {
    return seconds(history.past_of(path).since);
  }
  std::optional<std::int64_t> free_since(const std::string& path = "/a") const {
    return seconds(history.free_since(history.past_of(path)));
  }
  static std::int64_t seconds(WallTime time) {
    return std::chrono::duration_cast<std::chrono::seconds>(time - kNow).count();
  }
  static std::optional<std::int64_t> seconds(std::optional<WallTime> time) {
    return time ? std::optional(seconds(*time)) : std::nullopt;
  }

  LockHistory history;
  WallTime now = kNow;
};

inline Participant hold(std::int64_t zxid) {
  return with_token(holder("lock-" + std::to_string(zxid), 1s), zxid);
}

inline SurveyedLock lock_of(const std::vector<std::int64_t>& holds, std::size_t waiting = 0,
                            std::string path = "/a") {
  SurveyedLock lock = lock_at(std::move(path));
  for (const auto zxid : holds) add_holder(lock, hold(zxid));
  for (std::size_t i = 0; i < waiting; ++i) add_waiting(lock, contender("lock-w", 1s));
  return lock;
}

}  // namespace zklock::cli::testing
