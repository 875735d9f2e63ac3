// SPDX-License-Identifier: Apache-2.0
#include "zklock/engine/session/limited_log.h"

#include <optional>
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

client::Log::Importance importance_of(LogKind kind) {
  return kind == LogKind::loss ? client::Log::Importance::loss : client::Log::Importance::other;
}

}  // namespace

LimitedLog::LimitedLog(std::shared_ptr<client::Log> log, client::Scheduler& scheduler)
    : log_(std::move(log)), scheduler_(scheduler) {}

void LimitedLog::add(Line line) {
  if (!log_->accepts(line.level)) return;
  const auto kind = static_cast<std::size_t>(line.kind);
  const core::Instant now = scheduler_.now();
  std::optional<core::Instant> report_at;
  {
    const client::MutexLock guard(mutex_);
    Limit* const limit = kind < kLimitedKinds ? &limits_.at(kind) : nullptr;
    if (limit == nullptr || (limit->omitted == 0 && limit->throttle.on_line(now))) {
      log_->write(line.level, std::move(line.text), importance_of(line.kind));
    } else {
      if (limit->omitted++ == 0) report_at = limit->throttle.next();
      limit->last = std::move(line);
    }
  }
  if (report_at) report_omitted_at(*report_at, kind);
}

void LimitedLog::report_omitted_at(core::Instant when, std::size_t kind) {
  scheduler_.at(when, [weak = weak_from_this(), kind] {
    if (const auto alive = weak.lock()) alive->report_omitted(kind);
  });
}

void LimitedLog::report_omitted() {
  for (std::size_t kind = 0; kind < kLimitedKinds; ++kind) report_omitted(kind);
}

void LimitedLog::report_omitted(std::size_t kind) {
  const core::Instant now = scheduler_.now();
  {
    const client::MutexLock guard(mutex_);
    Limit& limit = limits_.at(kind);
    if (limit.omitted == 0) return;
    if (log_->try_write(limit.last.level, summary(limit), importance_of(limit.last.kind))) {
      static_cast<void>(limit.throttle.on_line(now));
      limit.omitted = 0;
      return;
    }
  }
  report_omitted_at(now + core::LogThrottle::kPause, kind);
}

std::string LimitedLog::summary(const Limit& limit) {
  const Line& last = limit.last;
  const std::string text = text_of(last.kind, limit.omitted);
  if (last.path.empty()) return "zklock: " + text;
  return core::log_line("lock", last.path, text + ", the last here", {});
}

}  // namespace zklock::detail
