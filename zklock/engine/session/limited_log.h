// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>

#include "zklock/client/port/log.h"
#include "zklock/client/port/mutex.h"
#include "zklock/client/port/scheduler.h"
#include "zklock/core/log_throttle.h"

namespace zklock::detail {

/// The kind of a line. A LogThrottle of its own limits each kind, except `event`.
enum class LogKind {
  loss,
  slow_acquire,
  other,
  event,  ///< of one contender, for debugging
};

/// The log of one client's locks. Each kind of line has a limit. If lines of a kind are omitted,
/// one line with their number follows as soon as the LogThrottle permits it.
///
/// Thread-safety: any thread may call any member, even while it holds a mutex. Made by
/// std::make_shared. REQUIRES: the scheduler outlives the last call.
class LimitedLog : public std::enable_shared_from_this<LimitedLog> {
 public:
  struct Line {
    LogLevel level = LogLevel::warning;
    LogKind kind = LogKind::other;
    std::string text;
    std::string path = {};  ///< shown for the last omitted line
  };

  LimitedLog(std::shared_ptr<client::Log> log, client::Scheduler& scheduler);
  LimitedLog(const LimitedLog&) = delete;
  LimitedLog& operator=(const LimitedLog&) = delete;

  bool accepts(LogLevel level) const noexcept { return log_->accepts(level); }
  /// Adds a line to the log, if the log accepts it and its kind is within the limit.
  void add(Line line);
  /// Adds the lines about omitted lines now. Called when no timer of the client runs any more.
  void report_omitted();

 private:
  static constexpr std::size_t kLimitedKinds = static_cast<std::size_t>(LogKind::event);
  struct Limit {
    core::LogThrottle throttle;
    std::uint64_t omitted = 0;  ///< above 0: a timer will report them
    Line last;                  ///< last omitted line
  };
  static std::string summary(const Limit& limit);
  void report_omitted(std::size_t kind);
  void report_omitted_at(core::Instant when, std::size_t kind);

  const std::shared_ptr<client::Log> log_;
  client::Scheduler& scheduler_;

  client::Mutex mutex_;  // also orders the lines of one kind
  std::array<Limit, kLimitedKinds> limits_ ZKLOCK_GUARDED_BY(mutex_);
};

}  // namespace zklock::detail
