// SPDX-License-Identifier: Apache-2.0
#include "zklock/client/port/log.h"

#include <cstdint>
#include <utility>

#include <poll.h>
#include <spdlog/logger.h>
#include <unistd.h>

#include "zklock/core/znode_data.h"
#include "zklock/lease_clock.h"

namespace zklock::client {

namespace {

spdlog::level::level_enum spdlog_level(LogLevel level) noexcept {
  switch (level) {
    case LogLevel::debug: return spdlog::level::debug;
    case LogLevel::info: return spdlog::level::info;
    case LogLevel::warning: return spdlog::level::warn;
    case LogLevel::error: return spdlog::level::err;
  }
  return spdlog::level::err;
}

/// Drops the line if the standard error output cannot take it at once, or has no reader. Otherwise a
/// line that the program did not request could block a thread of zklock, or raise SIGPIPE.
void write_to_stderr(std::string_view text) {
  constexpr std::string_view kName = "zklock: ";
  std::string line;
  if (!text.starts_with(kName)) line += kName;
  line += text;
  line += '\n';
  pollfd output{STDERR_FILENO, POLLOUT, 0};
  if (::poll(&output, 1, 0) != 1 || output.revents != POLLOUT) return;
  if (::write(STDERR_FILENO, line.data(), line.size()) < 0) return;  // the line is lost
}

}  // namespace

Log::Log(std::shared_ptr<spdlog::logger> logger, LogSink sink, LogLevel level)
    : logger_(std::move(logger)), sink_(std::move(sink)), level_(level) {}

bool Log::accepts(LogLevel level) const noexcept {
  if (closed_) return false;
  if (uses_stderr()) return level >= LogLevel::warning;
  return (logger_ && logger_->should_log(spdlog_level(level))) || (sink_ && level >= level_);
}

void Log::write(LogLevel level, std::string_view line) const noexcept {
  if (!accepts(level)) return;
  try {
    const std::string text = core::printable(line, kMaxLine);
    if (uses_stderr()) return write_to_stderr(text);
    if (logger_) {
      logger_->log(spdlog_level(level), spdlog::string_view_t(text.data(), text.size()));
    }
    if (sink_ && level >= level_) sink_(level, text);
  } catch (...) {  // the line is lost
  }
}

void Log::write_throttled(LogLevel level, std::string line) noexcept {
  if (!accepts(level)) return;
  std::uint64_t omitted = 0;
  {
    const MutexLock guard(mutex_);
    if (!throttle_.on_line(LeaseClock::now())) return;
    omitted = throttle_.take_suppressed();
  }
  if (omitted > 0) line += " (" + std::to_string(omitted) + " warnings before it were omitted)";
  write(level, line);
}

}  // namespace zklock::client
