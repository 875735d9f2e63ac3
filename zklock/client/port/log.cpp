// SPDX-License-Identifier: Apache-2.0
#include "zklock/client/port/log.h"

#include <cassert>
#include <cstdint>
#include <string_view>
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

/// Drops the line if the standard error output cannot take it at once, or has no reader. Otherwise
/// a line that the program did not request could block a thread of zklock, or raise SIGPIPE.
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

Log::Log(std::shared_ptr<spdlog::logger> logger, LogSink sink, LogLevel level,
         std::shared_ptr<Dispatcher> thread)
    : logger_(std::move(logger)),
      sink_(std::move(sink)),
      level_(level),
      thread_(std::move(thread)) {}

bool Log::accepts(LogLevel level) const noexcept {
  if (closed_) return false;
  if (uses_stderr()) return level >= LogLevel::warning;
  return (logger_ && logger_->should_log(spdlog_level(level))) || (sink_ && level >= level_);
}

void Log::write(LogLevel level, std::string line, Importance importance) noexcept {
  if (!try_write(level, std::move(line), importance)) ++dropped_;
}

bool Log::try_write(LogLevel level, std::string line, Importance importance) noexcept {
  if (!accepts(level)) return true;
  const std::size_t room = (importance == Importance::loss ? 2 : 1) * kMostWaiting;
  if (waiting_++ >= room) {
    --waiting_;
    return false;
  }
  try {
    auto write = [self = shared_from_this(), level, line = std::move(line)] {
      self->write_next(level, line);
    };
    if (!thread_->post(std::move(write))) --waiting_;  // closed meanwhile
    return true;
  } catch (...) {  // no memory: the line is lost
    --waiting_;
    return false;
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
  write(level, std::move(line));
}

void Log::write_next(LogLevel level, const std::string& line) {
  --waiting_;
  write_now(level, line);
  if (waiting_ > 0 || dropped_ == 0) return;
  write_now(LogLevel::warning, "zklock: " + std::to_string(dropped_.exchange(0)) +
                                   " lines were not logged, because the log is too slow");
}

void Log::write_now(LogLevel level, const std::string& line) const noexcept {
  assert(may_block_here());
  if (!accepts(level)) return;  // closed meanwhile
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

}  // namespace zklock::client
