// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>
#include <cstddef>
#include <memory>
#include <string>
#include <string_view>

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
/// Thread-safety: all members, from any thread.
class Log {
 public:
  /// The longest line, in bytes.
  static constexpr std::size_t kMaxLine = core::kMaxLogLine;

  /// `level`: the lowest level for `sink`. The logger has a level of its own.
  explicit Log(std::shared_ptr<spdlog::logger> logger, LogSink sink = {},
               LogLevel level = LogLevel::info);

  /// Returns whether a line of this level is written. A caller that formats a line checks it first.
  bool accepts(LogLevel level) const noexcept;
  bool uses_stderr() const noexcept { return !logger_ && !sink_; }
  /// From now on no line is written. A write that another thread has begun continues.
  void close() noexcept { closed_ = true; }
  /// Writes the line, cut and made printable, on this thread. Drops what the logger or the sink
  /// throws.
  void write(LogLevel level, std::string_view line) const noexcept;
  /// Does what write() does for at most ten lines at once, and then one a second. A line says how
  /// many were omitted before it.
  void write_throttled(LogLevel level, std::string line) noexcept;

 private:
  const std::shared_ptr<spdlog::logger> logger_;
  const LogSink sink_;
  const LogLevel level_;
  std::atomic<bool> closed_{false};

  Mutex mutex_;
  core::LogThrottle throttle_ ZKLOCK_GUARDED_BY(mutex_);
};

}  // namespace zklock::client
