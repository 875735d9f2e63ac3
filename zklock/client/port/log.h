// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>

#include "zklock/client/port/dispatcher.h"
#include "zklock/client/port/mutex.h"
#include "zklock/core/log_line.h"
#include "zklock/core/log_throttle.h"
#include "zklock/log.h"

namespace spdlog {
class logger;
}

namespace zklock::client {

/// The log of one client: a spdlog logger, a LogSink, both, or the standard error output.
///
/// | the user has set | lines of zklock                              | lines of the C client |
/// |------------------|----------------------------------------------|-----------------------|
/// | logger, sink     | to each of them, from its level on           | to each of them       |
/// | neither          | warnings and errors, to the standard error   | none                  |
/// |                  | output                                       |                       |
///
/// Any thread may add a line, even while it holds a mutex: that never waits for the output. A
/// thread of the log writes the lines, one after the other, in the order in which they were added.
/// After 1,000 lines that wait, only lines about losses are accepted. After 2,000, none is. The
/// lines that are not accepted are dropped and counted.
///
/// Thread-safety: all members, from any thread. Made by std::make_shared.
class Log : public std::enable_shared_from_this<Log> {
 public:
  /// The longest line, in bytes.
  static constexpr std::size_t kMaxLine = core::kMaxLogLine;
  static constexpr std::size_t kMostWaiting = 1000;
  /// `loss`: the line may wait behind 1,000 others.
  enum class Importance { other, loss };

  /// `level`: the lowest level for `sink`. The logger has a level of its own. `thread` runs one
  /// task at a time, in order. If it accepts no task any more, the line is lost.
  Log(std::shared_ptr<spdlog::logger> logger, LogSink sink, LogLevel level,
      std::shared_ptr<Dispatcher> thread);

  /// Returns whether a line of this level is written. A caller that formats a line checks it first.
  bool accepts(LogLevel level) const noexcept;
  bool uses_stderr() const noexcept { return !logger_ && !sink_; }
  /// From now on no line is written. A write that another thread has begun continues.
  void close() noexcept { closed_ = true; }
  /// Adds a line, if its level is accepted. It is cut and made printable. An exception of the
  /// logger or the sink is dropped.
  void write(LogLevel level, std::string line, Importance importance = Importance::other) noexcept;
  /// Does what write() does. But if there is no room for the line, returns false, and does not
  /// count it.
  bool try_write(LogLevel level, std::string line, Importance importance) noexcept;
  /// Does what write() does for at most ten lines at once, and then one a second. A line says how
  /// many were omitted before it.
  void write_throttled(LogLevel level, std::string line) noexcept;

 private:
  void write_next(LogLevel level, const std::string& line);
  void write_now(LogLevel level, const std::string& line) const noexcept;

  const std::shared_ptr<spdlog::logger> logger_;
  const LogSink sink_;
  const LogLevel level_;
  const std::shared_ptr<Dispatcher> thread_;
  std::atomic<bool> closed_{false};
  std::atomic<std::size_t> waiting_{0};    ///< lines that the thread has not begun
  std::atomic<std::uint64_t> dropped_{0};  ///< count of lines, because too many lines waited

  Mutex mutex_;
  core::LogThrottle throttle_ ZKLOCK_GUARDED_BY(mutex_);
};

}  // namespace zklock::client
