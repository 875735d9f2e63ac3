// SPDX-License-Identifier: Apache-2.0
// Maximum hold times of nested calls and composites, the lock delay, and with_lock().
// suite/options_test.cpp has the rest.
#include <chrono>
#include <memory>
#include <optional>
#include <stdexcept>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "conformance/lock_test.h"
#include "zklock/testing/servers/expire_session.h"

namespace zklock::testing {
namespace {

class LockOptionsTest : public LockTest {
 protected:
  const std::unique_ptr<Client> client_ = connect();
  const std::unique_ptr<Client> other_ = connect();

  static bool is_lost(const Hold& hold) {
    return eventually([&] { return hold.state() == HoldState::lost; }, kTestTimeout);
  }
};

TEST_F(LockOptionsTest, MaxHoldOfNestedCall_IsIgnored) {
  ReentrantMutex mutex(*client_, kPath);
  const auto limited = mutex.acquire({.owner = Owner::unique(), .max_hold = 1h});
  const auto until = limited.valid_until();
  const auto nested = mutex.acquire({.owner = limited.owner(), .max_hold = 1ms});
  EXPECT_TRUE(eventually([&] { return limited.valid_until() > until; }, kTestTimeout));
  EXPECT_EQ(nested.state(), HoldState::held);
}

TEST_F(LockOptionsTest, RenewWithoutMaxHold_SetsLimit) {
  ReentrantMutex mutex(*client_, kPath);
  Hold hold = mutex.acquire();
  EXPECT_TRUE(hold.renew());
  EXPECT_TRUE(hold.renew(300ms));
  EXPECT_TRUE(is_lost(hold));
}

TEST_F(LockOptionsTest, MultiMutexWaits_MaxHoldCountsFromWholeGrant) {
  Hold b = ReentrantMutex(*other_, "/b").acquire();
  MultiMutex mutex(*client_, {"/a", "/b"}, {.max_hold = 400ms});
  auto waiting = mutex.async_acquire();
  ASSERT_TRUE(reaches_nodes(2, "/b"));
  const std::string first = nodes("/a").at(0);
  // The timer hold outlasts max_hold by the same clock. The waiting part still has its first znode.
  const Hold timer = ReentrantMutex(*other_, "/timer").acquire({.max_hold = 800ms});
  EXPECT_TRUE(is_lost(timer));
  EXPECT_EQ(nodes("/a"), std::vector<std::string>{first});
  b.release();
  const MultiHold hold = get(waiting);
  EXPECT_TRUE(hold[0].node().ends_with(first));
  EXPECT_TRUE(eventually([&] { return hold.state() == HoldState::lost; }, kTestTimeout));
}

TEST_F(LockOptionsTest, MaxHoldOfComposite_RetainsEarlierHoldOfOwner) {
  ReentrantMutex part(*client_, "/a");
  const Hold before = part.acquire();
  MultiMutex mutex(*client_, {"/a", "/b"}, {.max_hold = 300ms});
  const MultiHold hold = mutex.acquire();
  EXPECT_TRUE(eventually([&] { return hold.state() == HoldState::lost; }, kTestTimeout));
  EXPECT_EQ(hold[1].state(), HoldState::lost);
  EXPECT_EQ(before.state(), HoldState::held);
}

// suite/options_test.cpp has the delay of every class.
TEST_F(LockOptionsTest, AttemptsDuringTheLockDelay_SucceedAfterIt) {
  constexpr std::chrono::milliseconds kDelay{1'500};
  ReentrantMutex mutex(*client_, kPath, {.lock_delay = kDelay});
  const Hold hold = mutex.acquire();
  expire_session(chroot_.hosts(), client_->session_id());
  const auto only_a_marker_is_left = [&] {
    const auto names = nodes();
    return names.size() == 1 && names.front().starts_with("delay-");
  };
  ASSERT_TRUE(eventually(only_a_marker_is_left, kTestTimeout));
  const auto before = LeaseClock::now();
  const auto try_once = [this] {
    ReentrantMutex others(*other_, kPath);  // each attempt uses a new object
    return static_cast<bool>(others.acquire({.deadline = Deadline::passed()}));
  };
  EXPECT_FALSE(try_once());
  EXPECT_TRUE(LockObserver(*other_, kPath).state().holders.empty());
  EXPECT_TRUE(eventually(try_once, kTestTimeout));
  EXPECT_GE(LeaseClock::now() - before, kDelay / 2) << "the delay has begun before";
  EXPECT_TRUE(becomes_empty());
}

// ---- with_lock() --------------------------------------------------------------------------------

class WithLock : public LockTest {
 protected:
  const std::unique_ptr<Client> client_ = connect();
};

TEST_F(WithLock, LockFree_RunsFunctionAndReleases) {
  const auto result = with_lock(*client_, kPath, {}, [&](const Hold& hold) {
    EXPECT_EQ(hold.state(), HoldState::held);
    EXPECT_FALSE(is_free());
    EXPECT_EQ(with_lock(*client_, kPath, {}, [] {}).token, hold.token()) << "nests";
    return hold.token().zxid;
  });
  EXPECT_EQ(result.outcome, LockOutcome::ran);
  EXPECT_TRUE(result);
  EXPECT_EQ(result.value, result.token.zxid);
  EXPECT_EQ(with_lock(*client_, kPath, [] { return std::string("done"); }).value, "done");
  const auto fails = []() -> int { throw std::runtime_error("no"); };
  EXPECT_THROW(static_cast<void>(with_lock(*client_, kPath, {}, fails)), std::runtime_error);
  EXPECT_TRUE(becomes_empty());
}

TEST_F(WithLock, LockBusyOrLost_IsReported) {
  int runs = 0;
  {
    const Hold other = hold_lock(*client_, kPath, {.owner = Owner::unique()});
    const auto busy =
        with_lock(*client_, kPath, {.deadline = Deadline::passed()}, [&] { return ++runs; });
    EXPECT_EQ(busy.outcome, LockOutcome::not_run);
    EXPECT_FALSE(busy);
    EXPECT_FALSE(busy.value);
    EXPECT_EQ(busy.token, FencingToken{});
    EXPECT_EQ(runs, 0);
  }
  const auto lost = with_lock(*client_, kPath, {}, [&](const Hold& hold) {
    expire_session(chroot_.hosts(), client_->session_id());
    EXPECT_TRUE(eventually([&] { return hold.loss_token().stop_requested(); }, kTestTimeout));
    return 7;
  });
  EXPECT_EQ(lost.outcome, LockOutcome::lost);
  EXPECT_FALSE(lost);
  EXPECT_EQ(lost.value, 7);
}

TEST_F(WithLock, ListenerOfTemporaryMutex_IsRefused) {
  const LockOptions with_listener{.listener = [](const LockEvent&) {}};
  EXPECT_EQ(error_of([&] { return hold_lock(*client_, kPath, {}, with_listener); }),
            Errc::invalid_option);
  EXPECT_EQ(error_of([&] { return hold_lock(*client_, kPath, {}, {.max_hold = 1h}); }),
            std::nullopt);
  EXPECT_TRUE(becomes_empty());
}

}  // namespace
}  // namespace zklock::testing
