// SPDX-License-Identifier: Apache-2.0
// The largest number of consecutive grants of one client, on the simulated ensemble. Also the last
// local hand-off while the query for contenders of other clients is unanswered.
#include "tests/model/cohort_fixture.h"

namespace zklock::model {
namespace {

using CohortBound = CohortTest;

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
  release(rest[3]);
  expect_rest();
}

// A quorum operation for every batch would cost more than the batch saves.
TEST_F(CohortBound, LaggingServer_BoundCountsFromItsCatchUp) {
  const auto four = on({.batch = 4});
  auto before = granted(0, four);
  const auto rest = several_wait(0, four, 20);
  client(0).lag();
  const auto outside = waiting(1);
  std::size_t next = 0;
  const auto pass_on = [&] {
    release(before);
    if (!is_granted(outside)) before = rest[next++];
  };
  while (next < 10) pass_on();
  ASSERT_TRUE(is_granted(before)) << "its server knows no other contender";
  client(0).catch_up();
  run();
  const std::size_t known = next;
  while (next < rest.size() && !is_granted(outside)) pass_on();
  EXPECT_TRUE(is_granted(outside));
  EXPECT_LE(next - known, 4U);
  release(outside);
  release_as_granted(rest);
  expect_rest();
}

TEST_F(CohortBound, OwnHoldMarker_IsNoOtherClient) {
  const auto four = on({.batch = 4});
  for (const bool is_created : {true, false}) {
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
    release(before);
    expect_rest();
  }
}

// ---- before the reply --------------------------------------------------------------------------

/// A batch of two was granted. The query for contenders of other clients is in flight.
class CohortWatchReply : public CohortTest {
 protected:
  void begin(const Request& request = on({.batch = 2}), Duration held = {}) {
    request_ = request;
    first_ = granted(0, anew());
    run_for(held);
    second_ = lock_.acquire(0, anew());
    third_ = lock_.acquire(0, anew());
    lock_.release(first_);
    EXPECT_TRUE(is_granted(second_));
    reset_counts();
    lock_.release(second_);
    EXPECT_FALSE(is_granted(third_));
    expect_open();
  }
  Request anew() const {
    Request request = request_;
    request.owner = Owner::unique();
    return request;
  }
  /// Expects that there is no holder, and that the lock znode exists.
  void expect_open() {
    EXPECT_EQ(lock_.held(), 0U);
    EXPECT_EQ(lock_.nodes().size(), request_.lock_delay > 0s ? 2U : 1U);
  }
  void expect_served_anew() {
    run_for(1s);
    expect_new_node(second_, third_);
    release(third_);
    expect_rest();
  }

  Request request_;
  std::size_t first_ = 0;
  std::size_t second_ = 0;
  std::size_t third_ = 0;
};

TEST_F(CohortWatchReply, OtherContenderFound_ReleasesZnode) {
  const auto outside = lock_.acquire(1);
  client(1).cut_off();
  begin();
  client(1).mend();
  client(1).serve();
  ASSERT_EQ(lock_.nodes().size(), 2U) << "it comes before the question does";
  run();
  EXPECT_TRUE(is_granted(outside));
  EXPECT_EQ(call(third_).outcomes, 0);
  release(outside);
  expect_served_anew();
}

TEST_F(CohortWatchReply, ContendedBefore_ReleasesWithoutReply) {
  const auto outside = granted(1);
  const auto first = waiting(0, on({.batch = 2}));
  release(outside);
  const auto second = lock_.acquire(0, on({.batch = 2}));
  const auto third = lock_.acquire(0, on({.batch = 2}));
  lock_.release(first);
  EXPECT_TRUE(is_granted(second));
  reset_counts();
  release_node(second);
  EXPECT_EQ(client(0).requests(Kind::announce_and_delete), 1U);
  EXPECT_GT(client(0).unanswered(), 1U) << "and the question";
  run();
  expect_new_node(second, third);
  release(third);
  expect_rest();
}

TEST_F(CohortWatchReply, LostReply_ReleasesZnode) {
  begin();
  lock_.world().lose_reply(0, Kind::count_children);
  run();
  EXPECT_EQ(client(0).lost_replies(Kind::count_children), 1U);
  lock_.world().reconnect(0);
  expect_served_anew();
}

TEST_F(CohortWatchReply, NewCallDuringQuery_WaitsForReply) {
  begin();
  const auto fourth = lock_.acquire(0, anew());
  const auto attempt = lock_.acquire(0, once(anew()));
  EXPECT_EQ(call(fourth).outcomes, 0);
  EXPECT_EQ(call(attempt).outcomes, 1);
  EXPECT_FALSE(is_granted(attempt));
  run();
  expect_same_node(second_, third_);
  EXPECT_EQ(call(fourth).outcomes, 0);
  release(third_);
  expect_same_node(third_, fourth);
  release(fourth);
  expect_rest();
}

TEST_F(CohortWatchReply, NoWaiterAtReply_RetainsIdleLock) {
  lock_.use(0);
  begin(on({.batch = 2, .keep_idle_for = 5s}));
  lock_.cancel(third_);
  run();
  EXPECT_EQ(lock_.nodes().size(), 1U);
  EXPECT_EQ(client(0).requests(Kind::list_and_watch), 1U) << "to notice new contenders";
  reset_counts();
  const auto later = lock_.acquire(0, anew());
  expect_same_node(second_, later);
  EXPECT_EQ(client(0).requests(), 0U);
  release(later);
  const auto outside = granted(1);
  release(outside);
  lock_.end_use(0);
  expect_rest();
}

TEST_F(CohortWatchReply, WaitersCancelled_ReplyGrantsSingleAttempt) {
  begin();
  lock_.cancel(third_);
  const auto attempt = lock_.acquire(0, once(anew()));
  EXPECT_EQ(call(attempt).outcomes, 0);
  run();
  expect_same_node(second_, attempt);
  release(attempt);
  expect_rest();
}

TEST_F(CohortWatchReply, NoWaiterAndNoReply_ReleasesZnode) {
  begin();
  client(0).cut_off();
  lock_.cancel(third_);
  run_for(1s);
  EXPECT_EQ(client(0).requests(Kind::announce_and_delete), 1U);
  client(0).mend();
  run();
  EXPECT_TRUE(lock_.nodes().empty());
  expect_rest();
}

TEST_F(CohortWatchReply, ReplyAfterZnode_WaitersServedAgain) {
  begin(on({.batch = 2}), 1s);  // its own znode is watched
  ASSERT_EQ(ensemble().remove(call(second_).node), Status::ok);
  ASSERT_TRUE(client(0).can_receive());
  client(0).receive();
  EXPECT_GT(client(0).unanswered(), 0U);
  expect_served_anew();
}

TEST_F(CohortWatchReply, ReplyAfterClose_WaitersGetClosed) {
  begin();
  lock_.core(0).close();
  lock_.world().run_all();
  EXPECT_EQ(error(third_), Errc::closed);
  EXPECT_TRUE(lock_.nodes().empty());
  EXPECT_EQ(client(0).live_interests(), 0U);
}

}  // namespace
}  // namespace zklock::model
