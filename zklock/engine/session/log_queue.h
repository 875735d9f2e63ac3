// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <memory>
#include <string>

#include "zklock/client/port/coordinator.h"
#include "zklock/client/port/dispatcher.h"
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

/// The lines of one client's locks, on their way to its log. Any code may add a line, also code that
/// holds a mutex. A thread that holds none writes the lines, one after the other, in the order of
/// add().
///
/// | state   | event                         | next                                             |
/// |---------|-------------------------------|--------------------------------------------------|
/// | idle    | add()                         | writing: one of `log_threads` writes. If there   |
/// |         |                               | is none, that of Coordinator::post() does        |
/// | writing | add()                         | writing                                          |
/// |         | the last line was written     | idle                                             |
///
/// If lines of a kind are omitted, one line with their number follows as soon as the LogThrottle
/// permits it. At most 1,000 lines wait, and 1,000 more after them if they are about losses. Further
/// ones are dropped and counted.
///
/// Thread-safety: any thread may call any member. Made by std::make_shared. REQUIRES: the ports
/// outlive the last call.
class LogQueue : public std::enable_shared_from_this<LogQueue> {
 public:
  static constexpr std::size_t kMostWaiting = 1000;
  struct Line {
    LogLevel level = LogLevel::warning;
    LogKind kind = LogKind::other;
    std::string text;
    std::string path = {};  ///< shown for the last omitted line
  };

  LogQueue(std::shared_ptr<client::Log> log, client::Dispatcher& log_threads,
           client::Coordinator& coordinator, client::Scheduler& scheduler);
  LogQueue(const LogQueue&) = delete;
  LogQueue& operator=(const LogQueue&) = delete;

  bool accepts(LogLevel level) const noexcept { return log_->accepts(level); }
  /// Adds a line, if the log accepts it. May start a thread.
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
  static Line summary(const Limit& limit);
  void report_omitted(std::size_t kind);
  void report_omitted_at(core::Instant when, std::size_t kind);
  bool is_full_for(LogKind kind) const noexcept ZKLOCK_REQUIRES(mutex_);
  /// Returns whether the caller must call start_writing().
  [[nodiscard]] bool enqueue(Line line) ZKLOCK_REQUIRES(mutex_);
  void start_writing();
  void write_all();

  const std::shared_ptr<client::Log> log_;
  client::Dispatcher& threads_;
  client::Coordinator& coordinator_;
  client::Scheduler& scheduler_;

  client::Mutex mutex_;
  std::array<Limit, kLimitedKinds> limits_ ZKLOCK_GUARDED_BY(mutex_);
  std::deque<Line> lines_ ZKLOCK_GUARDED_BY(mutex_);
  std::uint64_t dropped_ ZKLOCK_GUARDED_BY(mutex_) = 0;  ///< because too many lines waited
  bool is_writing_ ZKLOCK_GUARDED_BY(mutex_) = false;
};

}  // namespace zklock::detail
