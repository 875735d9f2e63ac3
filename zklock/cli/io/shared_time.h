// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>

#include "zklock/cli/core/duration.h"

namespace zklock::cli {

/// A time in memory that this process shares with its later children. A reader gets the latest
/// value, also after it was stopped. Messages would have to be read one after the other, and their
/// queue could become full.
///
/// Thread-safety: any thread and process.
class SharedTime {
 public:
  /// Throws: Failure.
  SharedTime();
  SharedTime(const SharedTime&) = delete;
  SharedTime& operator=(const SharedTime&) = delete;
  ~SharedTime();

  void set(Instant time) noexcept { *count_ = time.time_since_epoch().count(); }
  Instant get() const noexcept { return Instant(Duration(*count_)); }

 private:
  using Count = std::atomic<Duration::rep>;
  static_assert(Count::is_always_lock_free);

  Count* count_;
};

}  // namespace zklock::cli
