// SPDX-License-Identifier: Apache-2.0
// Without memory, a call that has begun ends the process.
#include "support/scarce_memory.h"

#include <csignal>
#include <cstddef>
#include <cstdlib>
#include <map>
#include <new>
#include <utility>

#include <gtest/gtest.h>
#include <sys/wait.h>

#include "tests/model/cohort_fixture.h"

namespace zklock::model {
namespace {

using testing::at_every_allocation;

class ScarceMemory : public CohortTest {
 protected:
  enum class Result { granted = 10, threw, threw_after_a_request };

  /// Acquires with client 0 and the given memory.
  Result acquire(std::size_t memory) {
    bool granted = false;
    detail::AcquireRequest wanted{.owner = Owner::unique(),
                                  .time_limit = {Deadline::never(), lock_.world().now()}};
    wanted.done = [&](const detail::AcquireOutcome& outcome) {
      granted = outcome.contender != nullptr;
    };
    const auto path_lock = lock_.path_lock(0);
    try {
      const testing::ScarceMemory scarce(memory);
      detail::PendingAcquire::start(path_lock, std::move(wanted), {});
    } catch (const std::bad_alloc&) {
      return client(0).requests() == 0 ? Result::threw : Result::threw_after_a_request;
    }
    run();
    EXPECT_TRUE(granted);
    return Result::granted;
  }
  void expect_others_get_it() {
    const auto other = lock_.acquire(1);
    run();
    ASSERT_TRUE(is_granted(other));
    release(other);
  }
};

// Each allocation fails once, in a process of its own.
TEST_F(ScarceMemory, Acquire_ThrowsUnbegunOrEndsTheProcess) {
  reset_counts();
  std::map<int, int> ends;  // by the status of the process
  const int granted = W_EXITCODE(static_cast<int>(Result::granted), 0);
  for (std::size_t memory = 0; memory < 100 && ends[granted] == 0; ++memory) {
    EXPECT_EXIT(
        std::_Exit(static_cast<int>(acquire(memory))),
        [&](int status) { return ++ends[status] > 0; }, "");
  }
  EXPECT_EQ(ends[granted], 1);
  EXPECT_GT(ends[W_EXITCODE(static_cast<int>(Result::threw), 0)], 0);
  EXPECT_GT(ends[W_EXITCODE(0, SIGABRT)], 5);
  EXPECT_EQ(ends.size(), 3U);
}

// A public constructor makes these in the engine.
TEST_F(ScarceMemory, NewLockObject_ThrowsOrIsMade) {
  int made = 0;
  const auto make = [&](std::size_t memory) {
    const testing::ScarceMemory scarce(memory);
    try {
      const auto path_lock = lock_.core(0).usable_path_lock("lock", "/locks/of-a-new-object");
      lock_.core(0).metrics_of("the label of a new object");
      ++made;
    } catch (const std::bad_alloc&) {
      return true;
    }
    return scarce.ran_out();
  };
  at_every_allocation(make);
  EXPECT_EQ(made, 1);
  EXPECT_TRUE(lock_.core(0).metrics().pending_deletes == 0) << "the client still works";
}

// A release that stopped halfway would leave the znode, and with it the lock, until the session
// ends.
TEST_F(ScarceMemory, Unlock_ReleasesOrEndsTheProcess) {
  const Owner owner = Owner::unique();
  const auto held = granted(0, {.owner = owner});
  const auto unlock = [&](std::size_t memory) {
    const testing::ScarceMemory scarce(memory);
    return lock_.path_lock(0)->unlock(owner, core::CountKind::hold);
  };
  EXPECT_DEATH(unlock(0), "terminate");
  EXPECT_TRUE(unlock(100));
  lock_.release(held);
  run();
  EXPECT_TRUE(lock_.nodes().empty());
  expect_others_get_it();
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
}

TEST_F(ScarceMemory, Withdrawal_CompletesOrEndsTheProcess) {
  granted(1);
  const auto cancelled = waiting(0);
  const auto fail = [&] {
    at_every_allocation([&](std::size_t memory) {
      const testing::ScarceMemory scarce(memory);
      lock_.path_lock(0)->fail_waiting(Errc::no_auth, {});
      return scarce.ran_out();
    });
  };
  EXPECT_DEATH(fail(), "terminate");
  lock_.cancel(cancelled);
  run();
  EXPECT_EQ(lock_.nodes().size(), 1U) << "of the holder";
}

}  // namespace
}  // namespace zklock::model
