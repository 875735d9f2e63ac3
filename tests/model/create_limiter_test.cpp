// SPDX-License-Identifier: Apache-2.0
// A limit on the contenders of one client that create their znodes at a time. The other contenders
// wait for their turn in a line.
#include <algorithm>
#include <vector>

#include <gtest/gtest.h>

#include "tests/model/path_lock_fixture.h"

namespace zklock::model {
namespace {

class CreateLimiterTest : public PathLockTest {
 protected:
  CreateLimiterTest() : PathLockTest(2) {}
  std::size_t creates() { return client(0).requests(Kind::create_contender); }
  std::vector<std::size_t> acquire(int count, Request request = {}) {
    std::vector<std::size_t> calls;
    for (int i = 0; i < count; ++i) {
      request.owner = Owner::unique();
      calls.push_back(lock_.acquire(0, request));
    }
    return calls;
  }
  /// Releases each call after its grant. Returns the order of the grants.
  std::vector<std::size_t> served(const std::vector<std::size_t>& calls) {
    std::vector<std::size_t> order;
    while (true) {
      const auto holds = std::ranges::find_if(
          calls, [this](std::size_t call) { return static_cast<bool>(lock_.call(call).hold); });
      if (holds == calls.end()) return order;
      order.push_back(*holds);
      release(*holds);
    }
  }
  void expect_granted_in_turn(const std::vector<std::size_t>& calls) {
    for (const std::size_t call : calls) {
      EXPECT_TRUE(lock_.call(call).granted());
      release(call);
    }
  }
};

TEST_F(CreateLimiterTest, MoreCreatesThanLimit_AreGrantedInOrder) {
  const auto calls = acquire(7);
  EXPECT_EQ(creates(), 2U);
  run();
  EXPECT_EQ(creates(), 7U);
  EXPECT_EQ(lock_.nodes().size(), 7U);
  expect_granted_in_turn(calls);
}

TEST_F(CreateLimiterTest, CreateOnOtherPath_DoesNotQueue) {
  const auto calls = acquire(3);
  ASSERT_EQ(creates(), 2U);
  bool ended = false;
  acquire_path(lock_.path_lock(0, "/locks/b"), [&](const auto&) { ended = true; })->cancel();
  EXPECT_EQ(creates(), 3U);
  run();
  EXPECT_TRUE(ended);
  expect_granted_in_turn(calls);
}

TEST_F(CreateLimiterTest, CancelledInQueue_SendsNoCreate) {
  const auto calls = acquire(6);
  lock_.cancel(calls[3]);
  lock_.cancel(calls[5]);
  EXPECT_EQ(lock_.call(calls[3]).outcomes, 1) << "at once";
  run();
  EXPECT_EQ(creates(), 4U);
  expect_granted_in_turn({calls[0], calls[1], calls[2], calls[4]});
}

TEST_F(CreateLimiterTest, ConnectionTimeout_EndsAllQueuedCreates) {
  lock_.world().disconnect(0);
  run();
  const auto calls = acquire(9, {});
  run_for(client(0).options().connection_timeout - 1s);
  for (const std::size_t call : calls) EXPECT_EQ(lock_.call(call).outcomes, 0);
  run_for(2s);
  for (const std::size_t call : calls) EXPECT_EQ(error(call), Errc::not_connected);
  lock_.world().reconnect(0);
}

TEST_F(CreateLimiterTest, SessionEnded_CreatesBeforeTheQueue) {
  const auto calls = acquire(7);
  lock_.world().disconnect(0);
  run_for(client(0).options().session_timeout + 1s);
  lock_.world().reconnect(0);
  run();
  // The next two were admitted while the fate of the first two was unknown.
  EXPECT_EQ(served(calls), (std::vector<std::size_t>{calls[2], calls[3], calls[0], calls[1],
                                                     calls[4], calls[5], calls[6]}));
}

}  // namespace
}  // namespace zklock::model
