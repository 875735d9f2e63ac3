// SPDX-License-Identifier: Apache-2.0
// Contenders of one client that share a znode.
#include <exception>
#include <optional>

#include "tests/model/cohort_fixture.h"
#include "zklock/guarded_transaction.h"

namespace zklock::model {
namespace {

using CohortBound = CohortTest;

TEST_F(CohortTest, DifferentSettings_DoNotShareZnode) {
  const auto first = granted(0, on({.batch = 3}));
  const auto other_batch = waiting(0, on({.batch = 4}));
  auto request = on({.batch = 3});
  request.queue_again = false;
  const auto other_policy = waiting(0, request);
  request = on({.batch = 3});
  request.lock_delay = 1s;
  const auto other_delay = waiting(0, request);
  const auto none = waiting(0, {});
  EXPECT_EQ(lock_.nodes().size(), 5U);
  release(first);
  expect_new_node(first, other_batch);
  for (const auto each : {other_batch, other_policy, other_delay, none}) {
    EXPECT_TRUE(is_granted(each));
    release(each);
  }
}

TEST_F(CohortTest, CancelledCall_LeavesZnodeToTheNext) {
  const auto outside = granted(1);
  const auto rest = several_wait(0, many(), 4);
  EXPECT_EQ(lock_.nodes().size(), 2U);
  reset_counts();
  lock_.cancel(rest[0]);  // the contender of the znode
  lock_.cancel(rest[2]);  // a contender behind it
  run();
  EXPECT_EQ(call(rest[0]).outcomes, 1);
  EXPECT_EQ(call(rest[2]).outcomes, 1);
  EXPECT_EQ(client(0).requests(), 0U);
  release(outside);
  EXPECT_TRUE(is_granted(rest[1]));
  release(rest[1]);
  expect_same_node(rest[1], rest[3]);
}

TEST_F(CohortTest, FailedSingleAttempt_DelaysNoWaiter) {
  granted(1);
  const auto attempt = lock_.acquire(0, once(many()));
  const auto patient = lock_.acquire(0, many());
  run();
  EXPECT_EQ(call(attempt).outcomes, 1);
  EXPECT_FALSE(is_granted(attempt));
  EXPECT_EQ(call(patient).outcomes, 0);
}

TEST_F(CohortTest, ReleaseRequested_ReleasesZnode) {
  const auto first = granted(0, many());
  const auto second = waiting(0, many());
  request_release({});
  run();
  EXPECT_TRUE(call(first).hold.release_request_token().stop_requested());
  const auto outside = waiting(1);
  release(first);
  EXPECT_TRUE(is_granted(outside));
  EXPECT_EQ(call(second).outcomes, 0);
  withdraw_request();
  run();
  release(outside);
  expect_new_node(first, second);
}

// One owner writes and reads. The downgrade deletes its delay marker.
TEST_F(CohortTest, ZnodeWithoutMarker_IsNotHandedOff) {
  auto request = many();
  request.lock_delay = 5s;
  const Owner owner = request.owner;
  const auto writes = granted(0, request);
  const auto reads = granted(0, LockWorld::to_read(owner));
  request.owner = Owner::unique();
  const auto next = waiting(0, request);
  release(writes);
  EXPECT_EQ(call(next).outcomes, 0);
  release(reads);
  expect_new_node(writes, next);
}

TEST_F(CohortTest, ManyImmediateReleases_AreServedInLoop) {
  const core::CohortPolicy large{.batch = 1'000'000};
  const auto first = granted(0, on(large));
  std::size_t served = 0;
  const auto release_at_once = [&served](const detail::AcquireOutcome& outcome) {
    if (!outcome.contender) return;
    ++served;
    outcome.contender->release(core::CountKind::hold);
  };
  constexpr std::size_t kCount = 100'000;
  const auto path_lock = lock_.path_lock(0);
  for (std::size_t i = 0; i < kCount; ++i) acquire_path(path_lock, release_at_once, large);
  release(first);
  EXPECT_EQ(served, kCount);
}

class CohortLoss : public CohortTest {
 protected:
  void SetUp() override {
    CohortTest::SetUp();
    first_ = granted(0, many());
    rest_ = several_wait(0, many(), 2);
  }
  /// Expects that the first call has lost its hold, and that the other calls are granted in turn.
  void expect_first_lost_and_rest_served() {
    EXPECT_EQ(call(first_).hold.state(), HoldState::lost);
    EXPECT_EQ(lock_.losses_notified(first_), 1U);
    expect_new_node(first_, rest_[0]);
    EXPECT_EQ(call(rest_[1]).outcomes, 0);
    release(first_);
    EXPECT_EQ(call(rest_[0]).hold.state(), HoldState::held);
    EXPECT_EQ(call(rest_[1]).outcomes, 0);
    release(rest_[0]);
    expect_same_node(rest_[0], rest_[1]);
  }

  std::size_t first_ = 0;
  std::vector<std::size_t> rest_;
};

TEST_F(CohortLoss, SessionExpired_HolderLostAndRestServed) {
  lock_.world().expire(0);
  run_for(1s);
  expect_first_lost_and_rest_served();
}

TEST_F(CohortLoss, ZnodeDeleted_HolderLostAndRestServed) {
  run_for(1s);  // after two ticks its own znode is watched
  ASSERT_EQ(ensemble().remove(call(first_).node), Status::ok);
  run();
  expect_first_lost_and_rest_served();
}

TEST_F(CohortLoss, ThreadOfHolderExits_NextGetsNewZnode) {
  auto request = many();
  request.kind = core::CountKind::lock;
  release(first_);
  release(rest_[0]);
  const auto mine = waiting(0, request);
  const auto next = waiting(0, many());
  release(rest_[1]);
  expect_same_node(first_, mine);
  lock_.path_lock(0)->thread_exits(call(mine).owner);
  run();
  expect_new_node(first_, next);
  EXPECT_EQ(client(0).requests(Kind::announce_and_delete), 0U) << "it was not released";
}

TEST_F(CohortTest, MaximumHoldTime_CountsForEachHold) {
  auto request = many();
  request.limit = {.longest = 1s};
  const auto first = granted(0, request);
  const auto rest = several_wait(0, request, 2);
  run_for(900ms);
  release(first);
  expect_same_node(first, rest[0]);
  run_for(900ms);
  EXPECT_EQ(lock_.losses_notified(rest[0]), 0U);
  run_for(1200ms);
  EXPECT_EQ(lock_.losses_notified(rest[0]), 1U);
  expect_new_node(first, rest[1]);
}

TEST_F(CohortTest, ErrorOfZnode_EndsAllCalls) {
  granted(1);
  auto request = many();
  request.queue_again = false;
  const auto rest = several_wait(0, request, 3);
  lock_.world().expire(0);
  run_for(1s);
  for (const auto each : rest) EXPECT_EQ(error(each), Errc::session_expired);
}

/// A holder's write of /data.
class Writing {
 public:
  Writing(const Hold& hold, const std::string& data) : tx_(hold) { tx_.set("/data", data); }
  void commit() {
    tx_.async_commit([this](const std::exception_ptr& e) { written = e == nullptr; });
  }
  std::optional<bool> written;

 private:
  GuardedTransaction tx_;
};

TEST_F(CohortTest, CommitAfterRelease_WritesNothing) {
  ensemble().create("/data", "0");
  const auto first = granted(0, many());
  const auto second = waiting(0, many());
  Writing writing(call(first).hold, "1");
  release(first);
  expect_same_node(first, second);
  writing.commit();
  run();
  EXPECT_EQ(writing.written, false);
  EXPECT_EQ(ensemble().find("/data")->data, "0");
}

// Another thread releases between any two steps of the commit. Either the commit sees the release,
// or the release sees the commit.
TEST_F(CohortTest, ReleaseDuringCommit_IsDetected) {
  ensemble().create("/data", "");
  bool released = true;
  int written_in_all = 0;
  for (int steps = 0; released; ++steps) {
    SCOPED_TRACE(steps);
    ASSERT_LT(steps, 100);
    const auto first = granted(0, many());
    const auto second = waiting(0, many());
    Writing writing(call(first).hold, std::to_string(steps));
    writing.commit();
    int left = steps;
    while (left > 0 && lock_.world().run_one()) --left;
    released = left == 0;
    const auto is_executed = [&] {
      return ensemble().find("/data")->data == std::to_string(steps);
    };
    const bool was_executed = is_executed();
    lock_.release(first);
    run();
    ASSERT_TRUE(writing.written.has_value());
    EXPECT_EQ(is_executed(), *writing.written);
    if (*writing.written && !was_executed) {
      expect_new_node(first, second);
      ++written_in_all;
    }
    release(second);
  }
  EXPECT_GT(written_in_all, 0);
}

// The write could still arrive after a second grant on the znode.
TEST_F(CohortTest, CommitOutcomeUnknown_EndsSharing) {
  ensemble().create("/data", "0");
  const auto first = granted(0, many());
  const auto second = waiting(0, many());
  Writing writing(call(first).hold, "1");
  writing.commit();
  client(0).disconnect(OnTheWay::linger);
  run();
  ASSERT_EQ(writing.written, false);
  lock_.release(first);
  EXPECT_EQ(call(second).outcomes, 0);
  client(0).reconnect();
  run();
  expect_new_node(first, second);
}

TEST_F(CohortBound, OtherClientWaits_BatchHasExactlyItsBound) {
  const auto three = on({.batch = 3});
  const auto first = granted(0, three);
  const auto outside = waiting(1);
  const auto rest = several_wait(0, three, 4);
  release(first);
  expect_same_node(first, rest[0]);
  release(rest[0]);
  expect_same_node(first, rest[1]);
  release(rest[1]);
  EXPECT_TRUE(is_granted(outside));
  EXPECT_EQ(call(rest[2]).outcomes, 0);
  EXPECT_EQ(lock_.nodes().size(), 2U)
      << "the remaining contenders have queued again under one znode";
  release(outside);
  expect_new_node(first, rest[2]);
  release(rest[2]);
  expect_same_node(rest[2], rest[3]);
}

TEST_F(CohortBound, OwnHoldMarker_IsNoOtherClient) {
  auto four = on({.batch = 4});
  for (const bool is_created : {true, false, true}) {
    auto before = granted(0, four);
    run_for(2900ms);
    if (!is_created) client(0).cut_off();
    run_for(500ms);  // the marker's create is sent
    EXPECT_EQ(lock_.hold_markers().size(), is_created ? 1U : 0U);
    const auto rest = several_wait(0, four, 12);
    for (std::size_t i = 0; i < rest.size(); ++i) {
      if (i == 3) client(0).mend();  // the count was sent after the create
      release(before);
      expect_same_node(before, rest[i]);
      before = rest[i];
    }
    finish();
    if (!is_created) four.lock_delay = 5s;  // its marker is no other client, either
  }
}

TEST_F(CohortBound, ContendedBefore_ReleasesWithoutReply) {
  const auto outside = granted(1);
  const auto first = waiting(0, on({.batch = 2}));
  release(outside);
  const auto second = lock_.acquire(0, on({.batch = 2}));
  lock_.acquire(0, on({.batch = 2}));
  lock_.release(first);
  EXPECT_TRUE(is_granted(second));
  release_node(second);
  EXPECT_EQ(client(0).requests(Kind::announce_and_delete), 1U);
}

/// A batch of two was granted. The query for contenders of other clients is in flight.
class CohortWatchReply : public CohortTest {
 protected:
  void SetUp() override {
    CohortTest::SetUp();
    // The create of another client is not executed yet.
    outside_ = lock_.acquire(1);
    client(1).cut_off();
    first_ = granted(0, two());
    run_for(1s);  // its own znode is watched
    second_ = lock_.acquire(0, two());
    third_ = lock_.acquire(0, two());
    lock_.release(first_);
    EXPECT_TRUE(is_granted(second_));
    lock_.release(second_);
    EXPECT_FALSE(is_granted(third_));
    EXPECT_EQ(lock_.held(), 0U);
    EXPECT_EQ(lock_.nodes().size(), 1U);
  }
  void TearDown() override {
    client(1).mend();
    CohortTest::TearDown();
  }
  static Request two() { return on({.batch = 2}); }

  std::size_t outside_ = 0;
  std::size_t first_ = 0;
  std::size_t second_ = 0;
  std::size_t third_ = 0;
};

TEST_F(CohortWatchReply, OtherContenderFound_ReleasesZnode) {
  client(1).mend();
  client(1).serve();
  ASSERT_EQ(lock_.nodes().size(), 2U) << "it comes before the question does";
  run();
  EXPECT_TRUE(is_granted(outside_));
  EXPECT_EQ(call(third_).outcomes, 0);
  release(outside_);
  expect_new_node(second_, third_);
}

TEST_F(CohortWatchReply, NewCallDuringQuery_WaitsForReply) {
  const auto fourth = lock_.acquire(0, two());
  const auto attempt = lock_.acquire(0, once(two()));
  EXPECT_EQ(call(fourth).outcomes, 0);
  EXPECT_EQ(call(attempt).outcomes, 1);
  EXPECT_FALSE(is_granted(attempt));
  run();
  expect_same_node(second_, third_);
  EXPECT_EQ(call(fourth).outcomes, 0);
  release(third_);
  expect_same_node(third_, fourth);
}

TEST_F(CohortWatchReply, ReplyAfterZnode_WaitersServedAgain) {
  ASSERT_EQ(ensemble().remove(call(second_).node), Status::ok);
  ASSERT_TRUE(client(0).can_receive());
  client(0).receive();
  EXPECT_GT(client(0).unanswered(), 0U);
  run_for(1s);
  expect_new_node(second_, third_);
}

TEST_F(CohortWatchReply, NoWaiterAndNoReply_ReleasesZnode) {
  client(0).cut_off();
  lock_.cancel(third_);
  run_for(1s);
  EXPECT_EQ(client(0).requests(Kind::announce_and_delete), 1U);
  client(0).mend();
}

TEST_F(CohortWatchReply, WaitersCancelled_ReplyGrantsSingleAttempt) {
  lock_.cancel(third_);
  const auto attempt = lock_.acquire(0, once(two()));
  EXPECT_EQ(call(attempt).outcomes, 0);
  run();
  expect_same_node(second_, attempt);
}

}  // namespace
}  // namespace zklock::model
