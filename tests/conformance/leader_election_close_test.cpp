// SPDX-License-Identifier: Apache-2.0
// LeaderElection: withdrawing, closing and destroying it at any moment.
#include <atomic>
#include <future>
#include <memory>
#include <string>

#include <gtest/gtest.h>

#include "conformance/gate.h"
#include "conformance/leader_election_fixture.h"
#include "conformance/leader_fixture.h"
#include "conformance/overlap_detector.h"

namespace zklock::testing {
namespace {

TEST_F(Election, WithdrawnWhileItLeads_ZnodeRemainsUntilReturn) {
  Gate gate;
  std::promise<std::string> node;
  LeaderElection first(*client_, kPath, [&](const Leadership& leadership) {
    const OverlapDetector::Call call(overlaps_, leadership.token());
    node.set_value(leadership.node());
    gate.pass();
  });
  LeaderElection second(*other_, kPath, until_the_end());
  const Gate::Opener opener(gate);
  first.start();
  ASSERT_TRUE(gate.reached_by(1));
  const std::string path = node.get_future().get();
  second.start();
  ASSERT_TRUE(reaches_nodes(2));
  first.withdraw();
  EXPECT_FALSE(first.has_leadership());
  EXPECT_TRUE(client_->flush(kTestTimeout));  // no delete is in flight
  EXPECT_EQ(raw().exists(path).rc, ZOK);
  EXPECT_EQ(overlaps_.calls(), 1U);
  gate.open();
  ASSERT_TRUE(overlaps_.reaches(2));
  EXPECT_TRUE(reaches_nodes(1));
  EXPECT_FALSE(overlaps_.overlapped());
}

TEST_F(Election, Withdrawn_LeavesTheQueueUntilItIsRequeued) {
  LeaderElection first(*client_, kPath, until_the_end());
  LeaderElection second(*other_, kPath, until_the_end());
  first.start();
  ASSERT_TRUE(overlaps_.reaches(1));
  second.start();
  ASSERT_TRUE(reaches_nodes(2));
  second.withdraw();  // while it waits
  ASSERT_TRUE(reaches_nodes(1));
  EXPECT_TRUE(second.requeue());
  ASSERT_TRUE(reaches_nodes(2));
  first.withdraw();  // while it leads
  ASSERT_TRUE(overlaps_.reaches(2));
  EXPECT_TRUE(reaches_nodes(1));
  EXPECT_TRUE(eventually([&] { return second.has_leadership(); }, kTestTimeout));
  EXPECT_FALSE(second.requeue());  // false: it is enqueued already
  EXPECT_TRUE(first.requeue());
  EXPECT_TRUE(reaches_nodes(2));
  EXPECT_FALSE(overlaps_.overlapped());
}

TEST_F(Election, FunctionRuns_CloseWaitsForIt) {
  Gate gate;
  std::atomic<bool> called{false};
  std::atomic<bool> returned{false};
  LeaderElection election(*client_, kPath, [&](const Leadership& leadership) {
    called = true;
    wait_for_the_end(leadership);
    gate.pass();
    returned = true;
  });
  std::future<void> closing;
  std::future<void> closing_too;
  const Gate::Opener opener(gate);
  election.start();
  ASSERT_TRUE(eventually([&] { return called.load(); }, kTestTimeout));
  EXPECT_TRUE(election.has_leadership());
  closing = in_thread([&] { election.close(); });
  closing_too = in_thread([&] { election.close(); });
  ASSERT_TRUE(gate.reached_by(1));  // its leadership has ended
  EXPECT_FALSE(election.has_leadership());
  EXPECT_FALSE(is_ready(closing));
  EXPECT_FALSE(is_ready(closing_too));
  EXPECT_EQ(nodes().size(), 1U);
  gate.open();
  get(closing);
  get(closing_too);
  EXPECT_TRUE(returned);
  EXPECT_TRUE(client_->flush(kTestTimeout));
  EXPECT_TRUE(nothing_is_left());
  EXPECT_EQ(error_of([&] { election.start(); }), Errc::closed);
  EXPECT_EQ(error_of([&] { return election.requeue(); }), Errc::closed);
  EXPECT_EQ(election.error()->errc(), Errc::closed);
}

TEST_F(Election, FunctionClosesTheElection_ZnodeRemainsUntilReturn) {
  std::promise<bool> node_is_there;
  std::unique_ptr<LeaderElection> election;
  election = std::make_unique<LeaderElection>(*client_, kPath, [&](const Leadership& leadership) {
    const OverlapDetector::Call call(overlaps_, leadership.token());
    election->close();
    EXPECT_TRUE(leadership.end_token().stop_requested());
    EXPECT_EQ(leadership.state(), HoldState::lost);
    node_is_there.set_value(raw().exists(leadership.node()).rc == ZOK);
  });
  election->start();
  auto result = node_is_there.get_future();
  EXPECT_TRUE(get(result));  // the znode exists until the function returns
  election->close();
  EXPECT_TRUE(overlaps_.is_empty());
  EXPECT_TRUE(becomes_empty());
  EXPECT_EQ(overlaps_.calls(), 1U);
}

TEST_F(Election, FunctionDestroysTheElection_ZnodeIsDeleted) {
  // The witness lives as long as the function object.
  auto witness = std::make_shared<int>(0);
  const std::weak_ptr<int> function_lives = witness;
  auto election = std::make_shared<std::unique_ptr<LeaderElection>>();
  Gate gate;
  *election = std::make_unique<LeaderElection>(*client_, kPath,
                                               [election, witness, &gate](const Leadership&) {
                                                 gate.pass();
                                                 election->reset();
                                               });
  const Gate::Opener opener(gate);
  (*election)->start();
  witness.reset();
  ASSERT_TRUE(gate.reached_by(1));
  gate.open();
  EXPECT_TRUE(eventually([&] { return function_lives.expired(); }, kTestTimeout));
  EXPECT_TRUE(becomes_empty());
}

TEST_F(Election, DestroyedAtAnyMoment_LeavesNoZnode) {
  for (int i = 0; i < 50; ++i) {
    LeaderElection first(*client_, kPath, until_the_end());
    LeaderElection second(*other_, kPath, until_the_end());
    const std::size_t calls = overlaps_.calls();
    if (i % 5 != 0) first.start();
    second.start();
    if (i % 5 == 1) static_cast<void>(nodes());  // a round trip later
    if (i % 5 == 2) {
      ASSERT_TRUE(overlaps_.reaches(calls + 1));
    }
    if (i % 5 == 3) first.interrupt();
    if (i % 5 == 4) second.withdraw();
  }
  EXPECT_TRUE(overlaps_.is_empty());
  EXPECT_TRUE(client_->flush(kTestTimeout));
  EXPECT_TRUE(other_->flush(kTestTimeout));
  EXPECT_TRUE(nothing_is_left());
  EXPECT_FALSE(overlaps_.overlapped());
  EXPECT_TRUE(is_free());
}

TEST_F(Election, ClientIsClosed_FunctionIsStopped) {
  LeaderElection leading(*client_, kPath, until_the_end());
  leading.start();
  ASSERT_TRUE(overlaps_.reaches(1));
  LeaderElection waiting(*client_, kPath, until_the_end());
  waiting.start();
  ASSERT_TRUE(reaches_nodes(2));
  client_->close();
  EXPECT_TRUE(overlaps_.is_empty());
  EXPECT_TRUE(eventually([&] { return leading.error().has_value() && waiting.error().has_value(); },
                         kTestTimeout));
  EXPECT_EQ(leading.error()->errc(), Errc::closed);
  EXPECT_EQ(error_of([&] { return waiting.requeue(); }), Errc::closed);
  EXPECT_EQ(overlaps_.calls(), 1U);
}

}  // namespace
}  // namespace zklock::testing
