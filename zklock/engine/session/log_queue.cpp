// SPDX-License-Identifier: Apache-2.0
#include "zklock/engine/session/log_queue.h"

#include <optional>
#include <system_error>
#include <utility>

#include "zklock/core/log_line.h"

namespace zklock::detail {

namespace {

std::string counted(std::uint64_t number, const char* one, const char* more) {
  return std::to_string(number) + (number == 1 ? one : more);
}

std::string text_of(LogKind kind, std::uint64_t omitted) {
  switch (kind) {
    case LogKind::loss: return counted(omitted, " more hold was lost", " more holds were lost");
    case LogKind::slow_acquire:
      return counted(omitted, " more line about a slow acquire was omitted",
                     " more lines about slow acquires were omitted");
    case LogKind::other:
    case LogKind::event: break;
  }
  return counted(omitted, " more warning was omitted", " more warnings were omitted");
}

}  // namespace

LogQueue::LogQueue(std::shared_ptr<client::Log> log, client::Dispatcher& log_threads,
                   client::Coordinator& coordinator, client::Scheduler& scheduler)
    : log_(std::move(log)),
      threads_(log_threads),
      coordinator_(coordinator),
      scheduler_(scheduler) {}

void LogQueue::add(Line line) {
  if (!log_->accepts(line.level)) return;
  const auto kind = static_cast<std::size_t>(line.kind);
  const core::Instant now = scheduler_.now();
  std::optional<core::Instant> report_at;
  bool starts = false;
  {
    const client::MutexLock guard(mutex_);
    Limit* const limit = kind < kLimitedKinds ? &limits_.at(kind) : nullptr;
    if (limit == nullptr || (limit->omitted == 0 && limit->throttle.on_line(now))) {
      starts = enqueue(std::move(line));
    } else {
      if (limit->omitted++ == 0) report_at = limit->throttle.next();
      limit->last = std::move(line);
    }
  }
  if (starts) start_writing();
  if (report_at) report_omitted_at(*report_at, kind);
}

void LogQueue::report_omitted_at(core::Instant when, std::size_t kind) {
  try {
    scheduler_.at(when, [weak = weak_from_this(), kind] {
      if (const auto alive = weak.lock()) alive->report_omitted(kind);
    });
  } catch (const std::system_error&) {  // no timer: report_omitted() reports them at the close
  }
}

void LogQueue::report_omitted() {
  for (std::size_t kind = 0; kind < kLimitedKinds; ++kind) report_omitted(kind);
}

void LogQueue::report_omitted(std::size_t kind) {
  const core::Instant now = scheduler_.now();
  bool starts = false;
  bool is_full = false;
  {
    const client::MutexLock guard(mutex_);
    Limit& limit = limits_.at(kind);
    if (limit.omitted == 0) return;
    is_full = is_full_for(limit.last.kind);
    if (!is_full) {
      static_cast<void>(limit.throttle.on_line(now));  // for the line below
      starts = enqueue(summary(limit));
      limit.omitted = 0;
    }
  }
  if (starts) start_writing();
  if (is_full) report_omitted_at(now + core::LogThrottle::kPause, kind);
}

LogQueue::Line LogQueue::summary(const Limit& limit) {
  Line line = limit.last;
  const std::string text = text_of(line.kind, limit.omitted);
  line.text = line.path.empty() ? "zklock: " + text
                                : core::log_line("lock", line.path, text + ", the last here", {});
  return line;
}

bool LogQueue::is_full_for(LogKind kind) const noexcept {
  return lines_.size() >= (kind == LogKind::loss ? 2 : 1) * kMostWaiting;
}

bool LogQueue::enqueue(Line line) {
  if (is_full_for(line.kind)) {
    ++dropped_;
    return false;
  }
  lines_.push_back(std::move(line));
  return !std::exchange(is_writing_, true);
}

void LogQueue::start_writing() {
  const auto task = [self = shared_from_this()] { self->write_all(); };
  try {
    if (threads_.post(task)) return;
  } catch (const std::system_error&) {  // no thread
  }
  coordinator_.post(task);
}

void LogQueue::write_all() {
  for (;;) {
    Line line;
    {
      const client::MutexLock guard(mutex_);
      if (!lines_.empty()) {
        line = std::move(lines_.front());
        lines_.pop_front();
      } else if (dropped_ > 0) {
        line.text = "zklock: " + std::to_string(std::exchange(dropped_, 0)) +
                    " lines were not logged, because the log is too slow";
      } else {
        is_writing_ = false;
        return;
      }
    }
    log_->write(line.level, line.text);
  }
}

}  // namespace zklock::detail
