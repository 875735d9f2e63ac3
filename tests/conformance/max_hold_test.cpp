// SPDX-License-Identifier: Apache-2.0
// Holds with a maximum time: the events before and at their end, and renew().
#include <atomic>
#include <memory>
#include <optional>
#include <stop_token>
#include <string>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "conformance/event_log.h"
#include "conformance/lock_test.h"

namespace zklock::testing {
namespace {

class MaxHold : public LockTest {
 protected:
  const std::unique_ptr<Client> client_ = connect();
  const std::unique_ptr<Client> other_ = connect();
  EventLog log_;

  static bool is_lost(const Hold& hold) {
    return eventually([&] { return hold.state() == HoldState::lost; }, kTestTimeout);
  }
};

TEST_F(MaxHold, MaxHoldElapsed_EndsHoldAndGrantsNext) {
  // A long warning time: an event that is delayed until the end would be dropped.
  ReentrantMutex mutex(*client_, kPath,
                       {.listener = log_.listener(), .max_hold = 4s, .expiry_notice = 3900ms});
  ReentrantMutex others(*other_, kPath);
  const auto before = LeaseClock::now();
  Hold hold = mutex.acquire();
  std::atomic<int> notified{0};
  const std::stop_callback on_loss(hold.loss_token(), [&] {
    if (hold.state() == HoldState::lost) ++notified;
  });
  auto next = others.async_acquire();
  const Hold granted = get(next);
  EXPECT_GE(LeaseClock::now() - before, 4s);
  EXPECT_EQ(hold.state(), HoldState::lost);
  EXPECT_TRUE(eventually([&] { return notified == 1; }, kTestTimeout));
  EXPECT_GT(granted.token(), hold.token());
  EXPECT_TRUE(log_.reaches({"acquired", "expiring", "expired"}));
}

TEST_F(MaxHold, MaxHoldElapsedAfterLock_LockIsLost) {
  ReentrantMutex mutex(*client_, kPath, {.max_hold = 300ms});
  mutex.lock();
  EXPECT_TRUE(eventually([&] { return !mutex.is_held_by_this_thread(); }, kTestTimeout));
  EXPECT_TRUE(becomes_empty());
  EXPECT_EQ(error_of([&] {
              mutex.lock();
              return 0;
            }),
            Errc::lock_lost);
  mutex.unlock();  // no error: it undoes the lost lock()
  EXPECT_EQ(error_of([&] {
              mutex.unlock();
              return 0;
            }),
            Errc::not_owner);
  const Hold again = mutex.acquire({.max_hold = 1h});
  EXPECT_TRUE(mutex.is_held_by_this_thread());
}

TEST_F(MaxHold, MaxHoldOfCall_OverridesThatOfObject) {
  ReentrantMutex mutex(*client_, kPath, {.max_hold = 1h});
  const Hold hold = mutex.acquire({.max_hold = 300ms});
  EXPECT_TRUE(is_lost(hold));
}

TEST_F(MaxHold, MaxHoldOfNestedCall_IsIgnored) {
  ReentrantMutex mutex(*client_, kPath);
  const auto limited = mutex.acquire({.owner = Owner::unique(), .max_hold = 1h});
  const auto until = limited.valid_until();
  const auto nested = mutex.acquire({.owner = limited.owner(), .max_hold = 1ms});
  EXPECT_TRUE(eventually([&] { return limited.valid_until() > until; }, kTestTimeout));
  EXPECT_EQ(nested.state(), HoldState::held);
}

TEST_F(MaxHold, RenewWithShorterLimit_EndsHoldThen) {
  ReentrantMutex mutex(*client_, kPath, {.max_hold = 1h});
  Hold hold = mutex.acquire();
  EXPECT_TRUE(hold.renew());
  EXPECT_TRUE(hold.renew(300ms));
  EXPECT_TRUE(is_lost(hold));
  EXPECT_FALSE(hold.renew());
  EXPECT_FALSE(hold.renew(1h));
  EXPECT_EQ(hold.state(), HoldState::lost);
}

TEST_F(MaxHold, RenewWithoutMaxHold_SetsLimit) {
  ReentrantMutex mutex(*client_, kPath);
  Hold hold = mutex.acquire();
  EXPECT_TRUE(hold.renew());
  EXPECT_TRUE(hold.renew(300ms));
  EXPECT_TRUE(is_lost(hold));
}

TEST_F(MaxHold, RenewOfEmptyOrReleasedHold_ReturnsFalse) {
  Hold empty;
  EXPECT_FALSE(empty.renew());
  EXPECT_FALSE(empty.renew(1s));
  ReentrantMutex mutex(*client_, kPath);
  Hold hold = mutex.acquire();
  hold.release();
  EXPECT_FALSE(hold.renew());
}

TEST_F(MaxHold, NonPositiveTimes_AreRefused) {
  for (const std::chrono::milliseconds bad : {0ms, -1ms}) {
    EXPECT_EQ(error_of([&] {
                ReentrantMutex(*client_, kPath, {.max_hold = bad});
                return 0;
              }),
              Errc::invalid_option);
    EXPECT_EQ(error_of([&] {
                ReentrantMutex(*client_, kPath, {.expiry_notice = bad});
                return 0;
              }),
              Errc::invalid_option);
    ReentrantMutex mutex(*client_, kPath);
    EXPECT_EQ(error_of([&] { return mutex.acquire({.max_hold = bad}); }), Errc::invalid_option);
    auto future = mutex.async_acquire({.max_hold = bad});
    EXPECT_EQ(error_of([&] { return get(future); }), Errc::invalid_option);
    EXPECT_EQ(raw().exists(kPath).rc, ZNONODE) << "nothing was sent";
  }
  ReentrantMutex mutex(*client_, kPath);
  Hold hold = mutex.acquire();
  EXPECT_EQ(error_of([&] { return hold.renew(0ms); }), Errc::invalid_option);
  EXPECT_EQ(hold.state(), HoldState::held);
  EXPECT_NE(error_text_of([&] { return hold.renew(-5ms); }).find("-5 ms"), std::string::npos);
}

TEST_F(MaxHold, MultiMutex_IsLostAsAWhole) {
  MultiMutex mutex(*client_, {"/a", "/b"}, {.max_hold = 300ms});
  const MultiHold hold = mutex.acquire();
  ASSERT_TRUE(static_cast<bool>(hold));
  EXPECT_TRUE(eventually([&] { return hold.loss_token().stop_requested(); }, kTestTimeout));
  EXPECT_EQ(hold.state(), HoldState::lost);
  EXPECT_TRUE(becomes_empty("/a") && becomes_empty("/b"));
}

TEST_F(MaxHold, RenewOfMultiHold_RenewsAllParts) {
  MultiMutex mutex(*client_, {"/a", "/b"}, {.max_hold = 1h});
  MultiHold hold = mutex.acquire();
  EXPECT_EQ(error_of([&] { return hold.renew(0ms); }), Errc::invalid_option);
  EXPECT_TRUE(hold.renew());
  EXPECT_EQ(hold.state(), HoldState::held);
  EXPECT_TRUE(hold.renew(300ms));
  EXPECT_TRUE(is_lost(hold[0]));
  EXPECT_TRUE(is_lost(hold[1]));
  EXPECT_EQ(hold.state(), HoldState::lost);
  EXPECT_FALSE(hold.renew());
  EXPECT_FALSE(hold.renew(1h));
  EXPECT_FALSE(MultiHold().renew());
}

TEST_F(MaxHold, MultiMutexLockPastMaxHold_IsLost) {
  MultiMutex mutex(*client_, {"/a", "/b"}, {.max_hold = 300ms});
  mutex.lock();
  EXPECT_TRUE(eventually([&] { return !mutex.is_held_by_this_thread(); }, kTestTimeout));
  mutex.unlock();  // no error: it undoes the lost lock()
  EXPECT_TRUE(becomes_empty("/a") && becomes_empty("/b"));
}

TEST_F(MaxHold, MultiMutexWaits_MaxHoldCountsFromWholeGrant) {
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

TEST_F(MaxHold, MaxHoldOfCompositeCall_EndsHold) {
  MultiMutex mutex(*client_, {"/a", "/b"});
  const MultiHold multi = mutex.acquire({.max_hold = 300ms});
  EXPECT_TRUE(eventually([&] { return multi.state() == HoldState::lost; }, kTestTimeout));
  const QuorumMutex::Clients clients{*client_};
  QuorumMutex majority(clients, kPath);
  const QuorumHold hold = majority.acquire({.max_hold = 300ms});
  EXPECT_TRUE(eventually([&] { return hold.state() == HoldState::lost; }, kTestTimeout));
}

TEST_F(MaxHold, MaxHoldOfComposite_RetainsEarlierHoldOfOwner) {
  ReentrantMutex part(*client_, "/a");
  const Hold before = part.acquire();
  MultiMutex mutex(*client_, {"/a", "/b"}, {.max_hold = 300ms});
  const MultiHold hold = mutex.acquire();
  EXPECT_TRUE(eventually([&] { return hold.state() == HoldState::lost; }, kTestTimeout));
  EXPECT_EQ(hold[1].state(), HoldState::lost);
  EXPECT_EQ(before.state(), HoldState::held);
}

TEST_F(MaxHold, NonPositiveTimesOfComposite_AreRefused) {
  const auto made = [&](const LockOptions& options) {
    return error_of([&] {
      const MultiMutex mutex(*client_, {"/a", "/b"}, options);
      return 0;
    });
  };
  EXPECT_EQ(made({}), std::nullopt);
  EXPECT_EQ(made({.max_hold = 0ms}), Errc::invalid_option);
  EXPECT_EQ(made({.max_hold = 1s, .expiry_notice = 0ms}), Errc::invalid_option);
  MultiMutex mutex(*client_, {"/a", "/b"});
  EXPECT_EQ(error_of([&] { return mutex.acquire({.max_hold = 0ms}); }), Errc::invalid_option);
  auto future = mutex.async_acquire({.max_hold = -1ms});
  EXPECT_EQ(error_of([&] { return get(future); }), Errc::invalid_option);
  EXPECT_TRUE(nodes("/a").empty());
}

}  // namespace
}  // namespace zklock::testing
