// SPDX-License-Identifier: Apache-2.0
// Every allocation of an acquire fails once. The call then throws and leaves nothing, or it
// continues. A release, a loss and a withdrawal cannot be undone: they end the process.
#include "support/scarce_memory.h"

#include <cstddef>
#include <new>
#include <string>
#include <utility>

#include <gtest/gtest.h>

#include "tests/model/cohort_fixture.h"

namespace zklock::model {
namespace {

using testing::at_every_allocation;

class ScarceMemory : public CohortFixture {
 protected:
  struct Call {
    bool threw = false;
    bool ran_out = false;
    int outcomes = 0;
    Hold hold;
  };

  /// Acquires with client 0 and the given memory, and runs to the result.
  Call acquire(std::size_t memory, const Request& request, Duration run_time = 0s) {
    Call call;
    detail::AcquireRequest wanted{
        .owner = request.owner,
        .rule = request.rule,
        .gate = request.gate,
        .time_limit = {request.timeout ? Deadline::after(lock_.world().now(), *request.timeout)
                                       : Deadline::never(),
                       lock_.world().now()},
        .kind = request.kind,
        .lock_delay = request.lock_delay,
        .cohort_policy = request.local};
    wanted.done = [&call, kind = request.kind](const detail::AcquireOutcome& outcome) {
      ++call.outcomes;
      if (outcome.contender) call.hold = outcome.contender->make_hold(kind);
    };
    const auto path_lock = lock_.path_lock(0);
    {
      const testing::ScarceMemory scarce(memory);
      try {
        detail::PendingAcquire::start(path_lock, std::move(wanted), {});
      } catch (const std::bad_alloc&) {
        call.threw = true;
      }
      call.ran_out = scarce.ran_out();
    }
    run_for(run_time);
    EXPECT_EQ(call.outcomes, call.threw ? 0 : 1);
    return call;
  }
  void expect_others_get_it() {
    const auto other = lock_.acquire(1);
    run();
    ASSERT_TRUE(is_granted(other));
    release(other);
  }
  /// Calls `step(memory)` for every allocation. Expects that more than `failures` of them fail.
  template <class Step>
  void at_every_allocation_of(Step step, std::size_t failures) {
    const std::size_t found = at_every_allocation([&](std::size_t memory) {
      SCOPED_TRACE("with memory for " + std::to_string(memory));
      const Call call = step(memory);
      return call.ran_out && !HasFailure();
    });
    EXPECT_GT(found, failures);
  }
  /// `request` returns a request with a unique owner.
  template <class Make>
  void expect_nothing_left(Make request) {
    const auto step = [&](std::size_t memory) {
      Call call = acquire(memory, request());
      EXPECT_EQ(static_cast<bool>(call.hold), !call.threw);
      call.hold.release();
      run();
      EXPECT_TRUE(lock_.nodes().empty());
      expect_others_get_it();
      return call;
    };
    at_every_allocation_of(step, 5);
    expect_rest();
  }
};

TEST_F(ScarceMemory, Acquire_LeavesNoZnode) {
  expect_nothing_left([] { return Request{}; });
}

TEST_F(ScarceMemory, SingleAttempt_LeavesNoZnode) {
  expect_nothing_left([] { return once({}); });
}

TEST_F(ScarceMemory, LockDelay_LeavesNoZnode) {
  expect_nothing_left([] { return Request{.lock_delay = 4s}; });
}

TEST_F(ScarceMemory, Reader_LeavesNoZnode) {
  expect_nothing_left([] { return LockWorld::to_read(); });
}

TEST_F(ScarceMemory, ContenderAtGate_LeavesNoZnode) {
  expect_nothing_left([] { return LockWorld::at_gate(1); });
}

TEST_F(ScarceMemory, Cohort_LeavesNoZnode) {
  expect_nothing_left([] { return on({.batch = 4}); });
}

TEST_F(ScarceMemory, SharedPermitCount_LeavesNoZnode) {
  const auto step = [&](std::size_t memory) {
    Call call = acquire(memory, LockWorld::shared_permits(1, 1));
    call.hold.release();
    const auto other = granted(1, LockWorld::shared_permits(1, 1));
    release(other);
    return call;
  };
  at_every_allocation_of(step, 5);
}

TEST_F(ScarceMemory, ContendedSingleAttempt_NeverWaits) {
  const auto holder = granted(1);
  const auto step = [&](std::size_t memory) {
    Call call = acquire(memory, once({}));
    EXPECT_FALSE(call.hold);
    EXPECT_EQ(lock_.nodes().size(), 1U);
    return call;
  };
  at_every_allocation_of(step, 5);
  release(holder);
  expect_rest();
}

// The first call of an owner holds. The second call throws or is granted. The releases leave no
// count.
TEST_F(ScarceMemory, NestedCall_LeavesNoCount) {
  const auto step = [&](std::size_t memory) {
    const Owner owner = Owner::unique();
    const auto first = granted(0, {.owner = owner});
    Call again = acquire(memory, {.owner = owner});
    EXPECT_EQ(lock_.path_lock(0)->ownership(owner).count(), again.threw ? 1 : 2);
    again.hold.release();
    release(first);
    expect_others_get_it();
    return again;
  };
  at_every_allocation_of(step, 0);
  expect_rest();
}

TEST_F(ScarceMemory, IdleLock_IsRetained) {
  lock_.use(0);
  const auto kept = [] { return on({.keep_idle_for = 1h}); };
  const auto step = [&](std::size_t memory) {
    release(granted(0, kept()));
    Call call = acquire(memory, kept());
    call.hold.release();
    run();
    EXPECT_EQ(lock_.nodes().size(), 1U) << "it is kept";
    const auto next = lock_.acquire(0, kept());
    EXPECT_TRUE(is_granted(next)) << "at once";
    run();
    release(next);
    expect_others_get_it();
    return call;
  };
  at_every_allocation_of(step, 3);
  lock_.end_use(0);
  run();
  expect_rest();
}

// Its lease has expired, and the next call is the first to detect that.
TEST_F(ScarceMemory, IdleLockWithExpiredLease_LeavesNoZnode) {
  lock_.use(0);
  const auto kept = [] { return on({.keep_idle_for = 1h}); };
  const auto step = [&](std::size_t memory) {
    release(granted(0, kept()));
    lock_.world().pause(0);
    run_for(4500ms);
    lock_.world().resume(0);
    Call call = acquire(memory, kept(), 3s);  // soon after a pause, no lease suffices
    call.hold.release();
    run();
    expect_others_get_it();
    return call;
  };
  at_every_allocation_of(step, 5);
  lock_.end_use(0);
  run();
  expect_rest();
}

// A release that stopped halfway would leave the znode, and with it the lock, until the session ends.
TEST_F(ScarceMemory, Unlock_ReleasesOrEndsTheProcess) {
  const Owner owner = Owner::unique();
  granted(0, {.owner = owner});
  const auto unlock = [&](std::size_t memory) {
    const testing::ScarceMemory scarce(memory);
    return lock_.path_lock(0)->unlock(owner, core::CountKind::hold);
  };
  EXPECT_DEATH(unlock(0), "terminate");
  EXPECT_TRUE(unlock(100));
  run();
  EXPECT_TRUE(lock_.nodes().empty());
  expect_others_get_it();
  expect_rest();
}

// A query of the holder is the first to detect that the lease has expired.
TEST_F(ScarceMemory, LossDetectedByQuery_IsNotifiedOrEndsTheProcess) {
  const Owner owner = Owner::unique();
  const auto held = granted(0, {.owner = owner});
  lock_.world().pause(0);
  run_for(4500ms);
  lock_.world().resume(0);
  const auto count = [&](std::size_t memory) {
    const testing::ScarceMemory scarce(memory);
    return lock_.path_lock(0)->ownership(owner).count();
  };
  EXPECT_DEATH(count(0), "terminate");
  EXPECT_EQ(count(100), 0);
  run();
  EXPECT_EQ(lock_.losses_notified(held), 1U);
  expect_others_get_it();
  release(held);
  expect_rest();
}

TEST_F(ScarceMemory, Withdrawal_CompletesOrEndsTheProcess) {
  const auto holder = granted(1);
  const auto cancelled = waiting(0);
  const auto fail = [&] {
    at_every_allocation([&](std::size_t memory) {
      const testing::ScarceMemory scarce(memory);
      try {
        lock_.path_lock(0)->fail_waiting(Errc::no_auth, {});
      } catch (const std::bad_alloc&) {  // before the first contender
      }
      return scarce.ran_out();
    });
  };
  EXPECT_DEATH(fail(), "terminate");
  lock_.cancel(cancelled);
  run();
  EXPECT_EQ(lock_.nodes().size(), 1U) << "of the holder";
  release(holder);
  expect_rest();
}

}  // namespace
}  // namespace zklock::model
