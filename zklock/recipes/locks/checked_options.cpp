// SPDX-License-Identifier: Apache-2.0
#include "zklock/recipes/locks/checked_options.h"

#include "zklock/core/lock_delay.h"

namespace zklock::detail {

namespace {

/// Returns the Error for a `time` that is not positive.
Error not_positive(const char* operation, const std::string& path, const char* what,
                   std::chrono::milliseconds time) {
  return {Errc::invalid_option, operation, path,
          std::string(what) + " must be positive, not " + std::to_string(time.count()) + " ms"};
}

/// Throws Error(invalid_option) if `time` is set and not positive. Called before anything is sent.
void check_positive(std::optional<std::chrono::milliseconds> time, const char* what,
                    const std::string& path) {
  if (time && *time <= std::chrono::milliseconds::zero())
    throw not_positive("lock", path, what, *time);
}

constexpr const char* kLongest = "the maximum hold time";

}  // namespace

core::HoldLimit checked_limit(const CohortOptions& options, const std::string& path) {
  check_positive(options.max_hold, kLongest, path);
  check_positive(options.expiry_notice, "the expiry notice", path);
  core::HoldLimit limit;
  if (options.max_hold) limit.longest = saturated(*options.max_hold);
  if (options.expiry_notice) limit.notice = saturated(*options.expiry_notice);
  return limit;
}

core::HoldLimit checked_limit(core::HoldLimit of_object,
                              std::optional<std::chrono::milliseconds> of_call,
                              const std::string& path) {
  check_positive(of_call, kLongest, path);
  if (of_call) of_object.longest = saturated(*of_call);
  return of_object;
}

void check_renewal(std::chrono::milliseconds length, const Hold& hold) {
  if (length <= std::chrono::milliseconds::zero())
    throw not_positive("renew", hold.node(), kLongest, length);
}

std::chrono::milliseconds checked_delay(std::chrono::milliseconds lock_delay,
                                        const std::string& path) {
  const bool is_one = lock_delay.count() >= 0 && lock_delay <= core::kLongestLockDelay;
  if (is_one) return lock_delay;
  throw Error(
      Errc::invalid_option, "lock", path,
      "the lock delay must be 0 to 24 hours, not " + std::to_string(lock_delay.count()) + " ms");
}

core::CohortPolicy checked_cohort_policy(const CohortOptions& options, const std::string& path) {
  if (options.max_local_handoffs < 1) {
    throw Error(
        Errc::invalid_option, "lock", path,
        "max_local_handoffs must be at least 1, not " + std::to_string(options.max_local_handoffs));
  }
  if (options.keep_idle_for.count() < 0) {
    throw Error(Errc::invalid_option, "lock", path,
                "keep_idle_for must not be negative, but it is " +
                    std::to_string(options.keep_idle_for.count()) + " ms");
  }
  return {.batch = options.max_local_handoffs, .keep_idle_for = options.keep_idle_for};
}

int checked_permit_count(int count, bool is_shared, const char* operation,
                         const std::string& path) {
  const int least = is_shared ? 0 : 1;
  if (count >= least) return count;
  const std::string enough = least == 1 ? "one permit" : "0 permits";
  throw Error(Errc::invalid_option, operation, path,
              "the semaphore must have at least " + enough + ", not " + std::to_string(count));
}

std::optional<Error> refusal_of_permits(int permits, int count, bool is_shared,
                                        const char* operation, const std::string& path) {
  if (permits >= 1 && (is_shared || permits <= count)) return std::nullopt;
  const std::string range =
      is_shared ? "at least one permit" : "from 1 to " + std::to_string(count) + " permits";
  return Error(Errc::invalid_option, operation, path,
               "a call can acquire " + range + ", not " + std::to_string(permits));
}

core::QueueRule checked_permits(int permits, int count, bool is_shared, const std::string& path) {
  checked_permit_count(count, is_shared, "lock", path);
  if (auto refusal = refusal_of_permits(permits, count, is_shared, "lock", path)) throw *refusal;
  return core::QueueRule::permits(permits, count, is_shared);
}

std::shared_ptr<LockEventQueue> make_listener(const EngineContext& context,
                                              const CohortOptions& options) {
  if (!options.listener) return nullptr;
  const BorrowedExecutor executor(options.executor);
  return std::make_shared<LockEventQueue>(
      options.listener, context.listener_dispatcher(executor.revocable()), executor);
}

}  // namespace zklock::detail
