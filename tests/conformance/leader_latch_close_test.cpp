// SPDX-License-Identifier: Apache-2.0
// LeaderLatch: a close at any moment reports the end, and leaves no znode.
#include <atomic>
#include <future>
#include <optional>
#include <stop_token>
#include <vector>

#include <gtest/gtest.h>

#include "conformance/gate.h"
#include "conformance/leader_fixture.h"
#include "conformance/leader_latch_listener_fixture.h"

namespace zklock::testing {
namespace {

class LatchClosing : public LatchListener {};

TEST_F(LatchClosing, NotStarted_CloseSendsNothing) {
  LeaderLatch latch(*client_, kPath);
  const auto subscription = log_.listen_to(latch);
  latch.close(CloseMode::notify);
  latch.close();
  EXPECT_EQ(error_of([&] { latch.start(); }), Errc::closed);
  EXPECT_EQ(error_of([&] { return latch.wait_until_leader(Deadline::passed()); }), Errc::closed);
  EXPECT_EQ(error_of([&] { return latch.add_listener({}, {}); }), Errc::closed);
  EXPECT_EQ(latch.error()->errc(), Errc::closed);
  EXPECT_EQ(log_.size(), 0U);
  EXPECT_TRUE(chroot_.is_empty());
}

TEST_F(LatchClosing, ClosedAtAnyMoment_LeavesNoZnode) {
  for (int i = 0; i < 100; ++i) {
    const auto latch = start_latch(*client_);
    const auto behind = start_latch(*client_);
    if (i % 4 == 1) static_cast<void>(nodes());  // one round trip later
    if (i % 4 == 2) static_cast<void>(latch->wait_until_leader(kTestTimeout));
    if (i % 4 == 3) behind->close(CloseMode::notify);
    latch->close(i % 2 == 0 ? CloseMode::notify : CloseMode::silent);
    EXPECT_FALSE(latch->has_leadership());
  }
  EXPECT_TRUE(client_->flush(kTestTimeout));
  EXPECT_TRUE(nothing_is_left());
  EXPECT_TRUE(is_free());
}

TEST_F(LatchClosing, SilentClose_CallsNoListener) {
  const auto latch = leading_latch(*client_);
  const auto subscription = log_.listen_to(*latch);
  ASSERT_TRUE(log_.reaches(1));
  const Leadership leadership = latch->leadership();
  std::atomic<int> notified{0};
  const std::stop_callback on_end(leadership.end_token(), [&notified] { ++notified; });
  latch->close();
  EXPECT_EQ(notified, 1);  // the candidate that leads must be notified
  latch->close(CloseMode::notify);
  EXPECT_TRUE(client_->flush(kTestTimeout));
  client_->close();  // runs the callbacks that are left
  EXPECT_EQ(log_.size(), 1U);
}

TEST_F(LatchClosing, NotifyingClose_ReportsTheEndOnce) {
  const auto latch = leading_latch(*client_);
  const auto subscription = log_.listen_to(*latch);
  ASSERT_TRUE(log_.reaches(1));
  latch->close(CloseMode::notify);
  latch->close(CloseMode::notify);
  latch->close(CloseMode::silent);
  ASSERT_TRUE(log_.reaches(2));
  client_->close();
  EXPECT_EQ(log_.size(), 2U);
  EXPECT_TRUE(log_.is_in_order());
}

TEST_F(LatchClosing, LeadershipNotReported_NotifyingCloseReportsNothing) {
  Gate gate;
  std::vector<Subscription> blocking;
  LeaderLatch latch(*client_, kPath);
  LeaderLatch elsewhere(*client_, "/elsewhere");
  for (int i = 0; i < 8; ++i) {  // as many as the client has threads for callbacks
    blocking.push_back(elsewhere.add_listener([&gate](const Leadership&) { gate.pass(); }, {}));
  }
  const Gate::Opener opener(gate);
  elsewhere.start();
  ASSERT_TRUE(gate.reached_by(8));
  const auto subscription = log_.listen_to(latch);
  latch.start();
  ASSERT_TRUE(latch.wait_until_leader(kTestTimeout));
  latch.close(CloseMode::notify);
  gate.open();
  client_->close();
  EXPECT_EQ(log_.size(), 0U);
}

TEST_F(LatchClosing, ClosedByItsListener_LeadershipEndsAtOnce) {
  for (const CloseMode mode : {CloseMode::silent, CloseMode::notify}) {
    std::promise<void> closed;
    std::atomic<int> gained{0};
    std::atomic<int> lost{0};
    LeaderLatch latch(*client_, kPath);
    const auto subscription = latch.add_listener(
        [&](const Leadership& leadership) {
          ++gained;
          latch.close(mode);
          EXPECT_TRUE(leadership.end_token().stop_requested());
          EXPECT_FALSE(latch.has_leadership());
          closed.set_value();
        },
        [&](const Leadership&) { ++lost; });
    latch.start();
    auto done = closed.get_future();
    get(done);
    latch.close();
    const int expected = mode == CloseMode::notify ? 1 : 0;
    EXPECT_TRUE(eventually([&] { return lost == expected; }, kTestTimeout));
    EXPECT_TRUE(becomes_empty());
    EXPECT_TRUE(client_->flush(kTestTimeout));
    EXPECT_EQ(gained, 1);
    EXPECT_EQ(lost, expected);
  }
}

TEST_F(LatchClosing, ClosedByTwoListenersAtOnce_DoesNotDeadlock) {
  Gate both;
  std::atomic<int> closed{0};
  LeaderLatch latch(*client_, kPath);
  const auto close = [&](const Leadership&) {
    both.pass();
    latch.close();
    ++closed;
  };
  const auto first = latch.add_listener(close, {});
  const auto second = latch.add_listener(close, {});
  const Gate::Opener opener(both);
  latch.start();
  ASSERT_TRUE(both.reached_by(2));
  both.open();
  EXPECT_TRUE(eventually([&] { return closed == 2; }, kTestTimeout));
  EXPECT_TRUE(becomes_empty());
}

TEST_F(LatchClosing, ClosedByALossListener_DeletesItsZnode) {
  std::promise<void> closed;
  const auto latch = leading_latch(*client_);
  const auto subscription = latch->add_listener({}, [&](const Leadership&) {
    latch->close();
    closed.set_value();
  });
  expire(*client_);
  auto done = closed.get_future();
  get(done);
  EXPECT_TRUE(client_->flush(kTestTimeout));
  EXPECT_TRUE(becomes_empty());
}

TEST_F(LatchClosing, ClosedByAStopCallback_DeletesItsZnode) {
  std::promise<void> closed;
  const auto latch = leading_latch(*client_);
  const Leadership leadership = latch->leadership();
  const std::stop_callback on_end(leadership.end_token(), [&] {
    latch->close();
    closed.set_value();
  });
  expire(*client_);
  auto done = closed.get_future();
  get(done);
  EXPECT_TRUE(client_->flush(kTestTimeout));
  EXPECT_TRUE(becomes_empty());
}

TEST_F(LatchClosing, ListenerRuns_CloseWaitsForIt) {
  Gate gate;
  std::atomic<bool> returned{false};
  const auto latch = leading_latch(*client_);
  const auto subscription = latch->add_listener(
      [&](const Leadership&) {
        gate.pass();
        returned = true;
      },
      {});
  std::future<void> closing;
  const Gate::Opener opener(gate);
  ASSERT_TRUE(gate.reached_by(1));
  closing = in_thread([&] { latch->close(); });
  ASSERT_TRUE(becomes_empty());  // the lock is released already
  EXPECT_FALSE(is_ready(closing));
  gate.open();
  get(closing);
  EXPECT_TRUE(returned);
}

TEST_F(LatchClosing, ClientIsClosed_LeadershipEndIsReported) {
  auto latch = leading_latch(*client_);
  const auto subscription = log_.listen_to(*latch);
  ASSERT_TRUE(log_.reaches(1));
  const Leadership leadership = latch->leadership();
  client_->close();
  EXPECT_FALSE(latch->has_leadership());
  EXPECT_EQ(leadership.state(), HoldState::lost);
  EXPECT_TRUE(leadership.end_token().stop_requested());
  EXPECT_TRUE(log_.reaches(2));
  EXPECT_TRUE(eventually([&] { return latch->error().has_value(); }, kTestTimeout));
  EXPECT_EQ(latch->error()->errc(), Errc::closed);
  latch->close(CloseMode::notify);
  latch.reset();
  EXPECT_TRUE(log_.is_in_order());
  EXPECT_EQ(log_.size(), 2U);
  EXPECT_TRUE(becomes_empty());
}

TEST_F(LatchClosing, LatchOutlivesItsClient_QueriesThrowClosed) {
  std::optional<Client> client(options());
  const auto latch = leading_latch(*client);
  const auto behind = start_latch(*client);
  client.reset();
  EXPECT_FALSE(latch->has_leadership());
  EXPECT_EQ(error_of([&] { return behind->wait_until_leader(); }), Errc::closed);
  EXPECT_EQ(error_of([&] { return behind->leader(); }), Errc::closed);
  EXPECT_TRUE(becomes_empty());
}

}  // namespace
}  // namespace zklock::testing
