// SPDX-License-Identifier: Apache-2.0
// The end of the sharing of a znode, and the transactions of its holders.
#include <exception>
#include <optional>

#include "tests/model/cohort_fixture.h"
#include "zklock/guarded_transaction.h"

namespace zklock::model {
namespace {

using CohortEnd = CohortTest;

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
    release(rest_[1]);
    expect_rest();
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
  call(mine).hold.release();
  release(next);
  expect_rest();
}

TEST_F(CohortEnd, MaximumHoldTime_CountsForEachHold) {
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
  release(rest[0]);
  release(rest[1]);
  expect_rest();
}

TEST_F(CohortEnd, ErrorOfZnode_EndsAllCallsOfCohort) {
  const auto outside = granted(1);
  auto request = many();
  request.queue_again = false;
  const auto rest = several_wait(0, request, 3);
  lock_.world().expire(0);
  run_for(1s);
  for (const auto each : rest) {
    EXPECT_EQ(call(each).outcomes, 1);
    EXPECT_EQ(error(each), Errc::session_expired);
  }
  release(outside);
  expect_rest();
}

// ---- guarded transactions ------------------------------------------------------------------------

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
  release(second);
  expect_rest();
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
  expect_rest();
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
  release(second);
  expect_rest();
}

}  // namespace
}  // namespace zklock::model
