// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <chrono>
#include <memory>
#include <optional>
#include <string>

#include "zklock/core/cohort_policy.h"
#include "zklock/core/hold_limit.h"
#include "zklock/core/queue_rule.h"
#include "zklock/engine/callback/event_delivery.h"
#include "zklock/engine/session/engine_context.h"
#include "zklock/error.h"
#include "zklock/hold.h"
#include "zklock/lock_options.h"

namespace zklock::detail {

/// Returns the smaller of `duration` and 100 years. The result, in nanoseconds and added to the
/// current time, does not overflow. REQUIRES: `duration` is not negative.
constexpr std::chrono::milliseconds saturated(std::chrono::milliseconds duration) noexcept {
  return std::min<std::chrono::milliseconds>(duration, std::chrono::hours(100 * 365 * 24));
}

/// Returns the limits of the holds of an object with these options. Throws Error(invalid_option)
/// for a time that is not positive.
core::HoldLimit checked_limit(const CohortOptions& options, const std::string& path);

/// Returns the limits for one call. If `of_call` is set, it replaces the maximum hold time of the
/// object. Throws Error(invalid_option) if it is not positive.
core::HoldLimit checked_limit(core::HoldLimit of_object,
                              std::optional<std::chrono::milliseconds> of_call,
                              const std::string& path);

/// Throws Error(invalid_option) if `length`, for Hold::renew(), is not positive.
void check_renewal(std::chrono::milliseconds length, const Hold& hold);

/// Returns `lock_delay`. Throws Error(invalid_option) if it is negative or longer than a day.
std::chrono::milliseconds checked_delay(std::chrono::milliseconds lock_delay,
                                        const std::string& path);

/// Returns the policy by which contenders of an object share a znode with others of the client.
/// Throws Error(invalid_option) for max_local_handoffs below 1 or a negative time.
core::CohortPolicy checked_cohort_policy(const CohortOptions& options, const std::string& path);

/// Returns `count`, the permit count of a semaphore. Throws Error(invalid_option) if `count` is
/// below 1, or below 0 if `is_shared` is true.
int checked_permit_count(int count, bool is_shared, const char* operation, const std::string& path);

/// Returns the Error for a request of `permits` out of `count` permits. Returns nullopt if the
/// request is valid.
std::optional<Error> refusal_of_permits(int permits, int count, bool is_shared,
                                        const char* operation, const std::string& path);

/// Returns the rule of a lock that requests `permits` of `count` permits. Throws
/// Error(invalid_option) for values outside the range of Semaphore.
core::QueueRule checked_permits(int permits, int count, bool is_shared, const std::string& path);

/// Returns the listener of an object with these options, or null if there is none.
std::shared_ptr<LockEventQueue> make_listener(const EngineContext& context,
                                              const CohortOptions& options);

}  // namespace zklock::detail
