// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "zklock/cli/core/contender_facts.h"
#include "zklock/participant.h"
#include "zklock/survey.h"

namespace zklock::cli {

/// The lock classes that the contenders of a path have, by the names of their znodes.
///
/// | kind      | contenders                             |
/// |-----------|----------------------------------------|
/// | mutex     | mutexes and candidates of elections    |
/// | shared    | readers and writers                    |
/// | semaphore | holders of permits                     |
/// | priority  | one or more at the gate; also mutexes  |
/// | mixed     | any other combination                  |
/// | unknown   | none: only a lock delay                |
enum class LockKind { mutex, shared, semaphore, priority, mixed, unknown };
LockKind kind_of(const SurveyedLock& lock) noexcept;
std::string_view name_of(LockKind kind) noexcept;

/// Returns "lock delay of 4 s".
std::string delay_text(std::chrono::milliseconds length);

/// Returns the sum of the held permits of a semaphore; std::nullopt if not all holders are
/// described.
std::optional<std::int64_t> held_permits(const SurveyedLock& lock) noexcept;

/// Returns whether the predicate is true for a described contender: a holder, or one that waits.
template <class Predicate>
bool any_contender(const SurveyedLock& lock, Predicate predicate) {
  return std::ranges::any_of(lock.state.holders, predicate) ||
         std::ranges::any_of(lock.waiters, predicate);
}

/// Returns whether a leader holds the lock.
inline bool is_led(const SurveyedLock& lock) noexcept {
  return std::ranges::any_of(lock.state.holders, leads);
}

/// Returns the age of the oldest hold; std::nullopt if none is known.
std::optional<HoldAge> oldest_hold(const SurveyedLock& lock, WallTime now) noexcept;
/// Returns the highest alert_age() of the holders; std::nullopt if none is known.
std::optional<std::chrono::milliseconds> oldest_alert(const SurveyedLock& lock,
                                                      WallTime now) noexcept;
/// Returns how long the oldest described waiting contender waits; std::nullopt if that is unknown.
std::optional<std::chrono::milliseconds> oldest_wait(const SurveyedLock& lock,
                                                     WallTime now) noexcept;

}  // namespace zklock::cli
