// SPDX-License-Identifier: Apache-2.0
// A process that pauses or dies while it holds the lock.
#include <future>
#include <memory>

#include <gtest/gtest.h>

#include "conformance/holder_process.h"
#include "conformance/lock_test.h"

namespace zklock::testing {
namespace {

class Pause : public LockTest {
 protected:
  // Short, because the tests wait for its end; long enough for a busy machine.
  static constexpr std::chrono::milliseconds kShortSession{6000};

  const std::unique_ptr<Client> client_ = connect();
  ReentrantMutex mutex_{*client_, kPath};
};

TEST_F(Pause, PauseLongerThanSession_FirstQueryReportsLost) {
  HolderProcess other(chroot_.hosts(), kPath, kShortSession);
  const auto granted = other.wait_until_held();
  EXPECT_EQ(granted.state, "held");
  auto waiting = mutex_.async_acquire();
  ASSERT_TRUE(reaches_nodes(2));

  other.process().pause();
  other.send("state");  // read when the process continues
  Hold hold = get(waiting);
  EXPECT_GT(hold.token().zxid, granted.token);
  EXPECT_EQ(hold.state(), HoldState::held);

  other.process().resume();
  const auto first_answer = other.receive_state();
  EXPECT_EQ(first_answer.state, "lost");
  EXPECT_EQ(first_answer.token, granted.token);
  EXPECT_EQ(hold.state(), HoldState::held);
  EXPECT_TRUE(eventually(
      [&] {
        other.send("losses");
        return other.receive() == "1";
      },
      kTestTimeout));

  other.send("again");  // it enqueues behind this process, with a new session
  ASSERT_TRUE(reaches_nodes(2));
  const auto our_token = hold.token().zxid;
  hold.release();
  const auto again = other.receive_state();
  EXPECT_EQ(again.state, "held");
  EXPECT_GT(again.token, our_token);
  other.send("losses");
  EXPECT_EQ(other.receive(), "1");
}

TEST_F(Pause, PauseShorterThanLease_HoldIsRetained) {
  HolderProcess other(chroot_.hosts(), kPath, 20s);
  const auto granted = other.wait_until_held();
  other.process().pause();
  other.send("state");
  EXPECT_FALSE(mutex_.try_lock());
  other.process().resume();
  const auto answer = other.receive_state();
  EXPECT_EQ(answer.state, "held");
  EXPECT_EQ(answer.token, granted.token);
  EXPECT_FALSE(mutex_.try_lock());
  other.send("losses");
  EXPECT_EQ(other.receive(), "0");
  other.send("exit");
  const auto status = other.process().wait(kTestTimeout);
  ASSERT_TRUE(status);
  EXPECT_EQ(status->exit_code, 0);
}

// The lease has expired but the session has not. No other client can be granted, and the hold is
// still lost.
TEST_F(Pause, PauseLongerThanLease_LostThoughSessionLives) {
  HolderProcess other(chroot_.hosts(), kPath, 8s);
  const auto granted = other.wait_until_held();
  other.process().pause();
  other.send("state");
  // A lease lasts at most two thirds of the session timeout.
  const auto lease_is_over = LeaseClock::now() + 8000ms * 2 / 3 + 1ms;
  EXPECT_TRUE(eventually([&] { return LeaseClock::now() > lease_is_over; }, kTestTimeout));
  other.process().resume();
  const auto answer = other.receive_state();
  EXPECT_EQ(answer.state, "lost");
  EXPECT_EQ(answer.token, granted.token);
  // The client deletes the znode of its lost hold, although its session lives.
  EXPECT_TRUE(static_cast<bool>(mutex_.acquire({.deadline = kTestTimeout})));
}

TEST_F(Pause, HolderKilled_NextContenderIsGranted) {
  HolderProcess other(chroot_.hosts(), kPath, kShortSession);
  const auto granted = other.wait_until_held();
  auto first = mutex_.async_acquire();
  ASSERT_TRUE(reaches_nodes(2));
  auto second = mutex_.async_acquire();
  ASSERT_TRUE(reaches_nodes(3));
  other.process().kill();
  Hold hold = get(first);
  EXPECT_GT(hold.token().zxid, granted.token);
  EXPECT_FALSE(is_ready(second));
  const auto token = hold.token();
  hold.release();
  EXPECT_GT(get(second).token(), token);
  EXPECT_TRUE(becomes_empty());
}

TEST_F(Pause, WaiterKilled_NextContenderIsGranted) {
  Hold hold = mutex_.acquire();
  HolderProcess other(chroot_.hosts(), kPath, kShortSession);
  ASSERT_TRUE(reaches_nodes(2));
  auto behind = mutex_.async_acquire();
  ASSERT_TRUE(reaches_nodes(3));
  other.process().kill();
  hold.release();
  EXPECT_TRUE(static_cast<bool>(get(behind)));
  EXPECT_TRUE(becomes_empty());
}

}  // namespace
}  // namespace zklock::testing
