// SPDX-License-Identifier: Apache-2.0
// KillSchedule with the lease of a hold on the simulated ensemble.
#include <optional>

#include <gtest/gtest.h>

#include "tests/model/path_lock_fixture.h"
#include "zklock/cli/core/kill_schedule.h"

namespace zklock::model {
namespace {

using Step = cli::KillSchedule::Step;

class KillScheduleModel : public PathLockTest {
 protected:
  /// Acquires the lock, and waits until `zklock run` would start the command.
  std::size_t start() {
    const std::size_t call = granted(0);
    timeout_ = lock_.core(0).keeper().timeout();
    plan_.emplace(timeout_ / 4);
    const Duration needed = plan_->needed_at_start(timeout_);
    for (Duration waited{}; bound(call) - now() < needed; waited += timeout_ / 200) {
      EXPECT_LE(waited, timeout_ / 8 + timeout_ / 200);
      run_for(timeout_ / 200);
    }
    plan_->on_bound(bound(call), timeout_);
    EXPECT_TRUE(plan_->may_start(now()));
    guardian_.emplace(*plan_);
    return call;
  }
  Instant now() { return lock_.world().now(); }
  Instant bound(std::size_t call) { return lock_.call(call).hold.valid_until(); }
  /// Runs until the next look of zklock. Returns what the guardian does until then, by its old
  /// bound.
  Step run_to_look() {
    run_for(plan_->next_look(now(), timeout_) - now());
    return guardian_->step(now());
  }
  /// Does what zklock does at each look at the hold.
  Step look(std::size_t call) {
    if (lock_.call(call).hold.is_valid()) {
      plan_->on_bound(bound(call), timeout_);
      guardian_->on_bound(bound(call), timeout_);
    }
    return plan_->step(now());
  }

  Duration timeout_{};
  std::optional<cli::KillSchedule> plan_;      ///< of zklock
  std::optional<cli::KillSchedule> guardian_;  ///< gets the bound at the looks of zklock
};

TEST_F(KillScheduleModel, HealthyHold_NoTermForTenTimeouts) {
  for (const Duration idle : {Duration(0s), Duration(7s), Duration(33s)}) {
    run_for(idle);
    const std::size_t call = start();
    for (const Instant end = now() + 10 * timeout_; now() < end;) {
      ASSERT_EQ(run_to_look(), Step::none);
      ASSERT_EQ(look(call), Step::none);
    }
    release(call);
  }
}

TEST_F(KillScheduleModel, Silence_KillBeforeTheLeaseEnds) {
  const std::size_t call = start();
  client(0).cut_off();
  Instant last = bound(call);
  for (Step step = Step::none; step != Step::kill;) {
    run_for(timeout_ / 400);
    ASSERT_TRUE(lock_.call(call).hold.is_valid());
    last = bound(call);
    step = look(call);
  }
  EXPECT_LE(now(), last - timeout_ / 24 + timeout_ / 400);
  client(0).mend();
  run();
  lock_.release(call);
}

}  // namespace
}  // namespace zklock::model
