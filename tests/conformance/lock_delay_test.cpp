// SPDX-License-Identifier: Apache-2.0
// The lock delay after a loss, on real servers.
#include <chrono>
#include <memory>
#include <string>

#include <gtest/gtest.h>

#include "conformance/event_log.h"
#include "conformance/lock_test.h"
#include "zklock/testing/servers/expire_session.h"

namespace zklock::testing {
namespace {

constexpr std::chrono::milliseconds kDelay{1'500};
const ExclusiveOptions kDelayed{.lock_delay = kDelay};

class LockDelay : public LockTest {
 protected:
  void expire() const { expire_session(chroot_.hosts(), client_->session_id()); }
  // Waits until the path has one child: the delay marker of the lost holder.
  bool only_a_marker_is_left(const std::string& path = kPath) {
    return eventually(
        [&] {
          const auto names = nodes(path);
          return names.size() == 1 && names.front().starts_with("delay-");
        },
        kTestTimeout);
  }

  const std::unique_ptr<Client> client_ = connect();
  const std::unique_ptr<Client> other_ = connect();
  EventLog log_;
};

TEST_F(LockDelay, HoldIsLost_WaiterIsGrantedAfterTheDelay) {
  ReentrantMutex mutex(*client_, kPath, kDelayed);
  ReentrantMutex others(*other_, kPath, {.listener = log_.listener()});
  Hold hold = mutex.acquire();
  ASSERT_TRUE(reaches_nodes(2)) << "its node, and what it would leave";
  auto next = others.async_acquire();
  ASSERT_TRUE(log_.reaches({"waiting 1"}));
  const auto before = LeaseClock::now();
  expire();
  const Hold granted = get(next);
  EXPECT_GE(LeaseClock::now() - before, kDelay);
  EXPECT_GT(granted.token(), hold.token());
  EXPECT_TRUE(log_.reaches({"waiting 1", "waiting 0", "acquired"}));
  EXPECT_TRUE(reaches_nodes(1)) << "the marker is deleted";
}

TEST_F(LockDelay, LeadershipIsLost_NoCandidateLeadsDuringTheDelay) {
  LeaderLatch lost(*client_, kPath, {.lock_delay = 24h});
  LeaderLatch next(*other_, kPath);
  lost.start();
  ASSERT_TRUE(lost.wait_until_leader(kTestTimeout));
  next.start();
  ASSERT_TRUE(reaches_nodes(3)) << "two candidates, and what the leader would leave";
  ASSERT_TRUE(next.leader());
  client_->close();
  ASSERT_TRUE(reaches_nodes(2));
  EXPECT_FALSE(next.wait_until_leader(300ms));
  EXPECT_EQ(next.leader(), std::nullopt);
  EXPECT_EQ(next.participants().size(), 1U);
}

TEST_F(LockDelay, AcquireDuringTheDelay_FailsAtItsDeadline) {
  ReentrantMutex mutex(*client_, kPath, {.lock_delay = 1h});
  ReentrantMutex others(*other_, kPath);
  const Hold hold = mutex.acquire();
  expire();
  ASSERT_TRUE(only_a_marker_is_left());
  EXPECT_FALSE(others.try_lock());
  EXPECT_FALSE(others.acquire({.deadline = 300ms}));
  EXPECT_TRUE(other_->flush(kTestTimeout));
  const auto waiting = others.participants();
  EXPECT_TRUE(waiting.empty());
  std::stop_source stop;
  auto stopped = others.async_acquire({.stop = stop.get_token()});
  ASSERT_TRUE(reaches_nodes(2));
  const auto queue = others.participants();
  ASSERT_EQ(queue.size(), 1U);
  EXPECT_FALSE(queue[0].holds);
  const LockState state = LockObserver(*other_, kPath).state();
  EXPECT_TRUE(state.holders.empty());
  EXPECT_EQ(state.waiting, 1U);
  stop.request_stop();
  EXPECT_FALSE(get(stopped));
  EXPECT_TRUE(only_a_marker_is_left());
}

TEST_F(LockDelay, RepeatedSingleAttempts_SucceedAfterTheDelay) {
  ReentrantMutex mutex(*client_, kPath, kDelayed);
  const Hold hold = mutex.acquire();
  expire();
  ASSERT_TRUE(only_a_marker_is_left());
  const auto before = LeaseClock::now();
  const auto try_once = [this] {
    ReentrantMutex others(*other_, kPath);  // each attempt uses a new object
    return static_cast<bool>(others.acquire({.deadline = Deadline::passed()}));
  };
  EXPECT_TRUE(eventually(try_once, kTestTimeout));
  EXPECT_GE(LeaseClock::now() - before, kDelay);
  EXPECT_TRUE(becomes_empty());
}

TEST_F(LockDelay, DelayOutOfRange_IsRefused) {
  for (const std::chrono::milliseconds bad :
       {std::chrono::milliseconds(-1), std::chrono::milliseconds(24h) + 1ms,
        std::chrono::milliseconds::min(), std::chrono::milliseconds::max()}) {
    const ExclusiveOptions options{.lock_delay = bad};
    const auto refused = [](auto make) {
      return error_of([&] {
               make();
               return 0;
             }) == Errc::invalid_option;
    };
    EXPECT_TRUE(refused([&] { ReentrantMutex(*client_, kPath, options); }));
    EXPECT_TRUE(refused([&] { SharedMutex(*client_, kPath, options); }));
    EXPECT_TRUE(refused([&] { PriorityMutex(*client_, kPath, {.lock_delay = bad}); }));
    EXPECT_TRUE(refused([&] { MultiMutex(*client_, {"/a", "/b"}, options); }));
    EXPECT_TRUE(refused([&] { QuorumMutex({*client_}, kPath, {.lock_delay = bad}); }));
    EXPECT_TRUE(refused([&] {
      LatchOptions latch;
      latch.lock_delay = bad;
      LeaderLatch(*client_, kPath, latch);
    }));
    EXPECT_TRUE(
        refused([&] { LeaderElection(*client_, kPath, {.lock_delay = bad}, [](Leadership&) {}); }));
  }
  EXPECT_EQ(raw().exists(kPath).rc, ZNONODE) << "nothing was sent";
}

}  // namespace
}  // namespace zklock::testing
