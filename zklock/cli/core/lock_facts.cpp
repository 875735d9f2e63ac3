// SPDX-License-Identifier: Apache-2.0
#include "zklock/cli/core/lock_facts.h"

#include <array>
#include <cstddef>

#include "zklock/cli/core/text.h"

namespace zklock::cli {

namespace {

/// Returns the kind of lock that one contender belongs to.
LockKind kind_of(const Participant& contender) noexcept {
  switch (contender.access) {
    case Access::shared: return LockKind::shared;
    case Access::permits: return LockKind::semaphore;
    case Access::weighted: return LockKind::priority;
    case Access::exclusive: break;
  }
  return is_writer(contender) ? LockKind::shared : LockKind::mutex;
}

LockKind combined(LockKind a, LockKind b) noexcept {
  if (a == LockKind::unknown || a == b) return b;
  const auto is_of_priority_mutex = [](LockKind kind) {
    return kind == LockKind::mutex || kind == LockKind::priority;
  };
  return is_of_priority_mutex(a) && is_of_priority_mutex(b) ? LockKind::priority : LockKind::mixed;
}

}  // namespace

LockKind kind_of(const SurveyedLock& lock) noexcept {
  LockKind kind = LockKind::unknown;
  for (const auto& each : lock.state.holders) kind = combined(kind, kind_of(each));
  for (const auto& each : lock.waiters) kind = combined(kind, kind_of(each));
  return kind;
}

std::string_view name_of(LockKind kind) noexcept {
  constexpr std::array<std::string_view, 6> kNames{"mutex",    "shared", "semaphore",
                                                   "priority", "mixed",  "unknown"};
  return kNames.at(static_cast<std::size_t>(kind));
}

std::string delay_text(std::chrono::milliseconds length) {
  return "lock delay of " + duration_text(length);
}

std::optional<std::int64_t> held_permits(const SurveyedLock& lock) noexcept {
  if (lock.state.holding > lock.state.holders.size()) return std::nullopt;
  std::int64_t held = 0;
  for (const Participant& each : lock.state.holders) held += each.permits;
  return held;
}

std::optional<HoldAge> oldest_hold(const SurveyedLock& lock, WallTime now) noexcept {
  std::optional<HoldAge> oldest;
  for (const auto& holder : lock.state.holders) {
    const auto each = hold_age(holder, now);
    if (each && (!oldest || each->age > oldest->age)) oldest = each;
  }
  return oldest;
}

std::optional<std::chrono::milliseconds> oldest_alert(const SurveyedLock& lock,
                                                      WallTime now) noexcept {
  std::optional<std::chrono::milliseconds> oldest;
  for (const auto& holder : lock.state.holders) oldest = std::max(oldest, alert_age(holder, now));
  return oldest;
}

std::optional<std::chrono::milliseconds> oldest_wait(const SurveyedLock& lock,
                                                     WallTime now) noexcept {
  std::optional<std::chrono::milliseconds> oldest;
  for (const auto& each : lock.waiters) {
    if (is_known(each.since)) oldest = std::max(oldest, std::optional(age(each.since, now)));
  }
  return oldest;
}

}  // namespace zklock::cli
