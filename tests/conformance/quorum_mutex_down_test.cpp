// SPDX-License-Identifier: Apache-2.0
// QuorumMutex while ensembles are down or paused.
#include <atomic>
#include <chrono>
#include <future>
#include <mutex>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "conformance/lock_test.h"
#include "conformance/quorum_mutex_fixture.h"

namespace zklock::testing {
namespace {

TEST_F(Quorum, MinorityDown_IsSkipped) {
  servers_[0].kill();
  const Contender c = contender({.ensemble_timeout = kShort});
  c->lock();
  EXPECT_EQ(c->hold_count(), 1);
  EXPECT_TRUE(reaches_nodes({0, 1, 1}));
  EXPECT_FALSE(contender({.ensemble_timeout = kShort})->try_lock());
  c->unlock();
  EXPECT_TRUE(reaches_nodes({0, 0, 0}));
}

TEST_F(Quorum, UnreachableEnsemble_IsSkippedAfterItsTimeShare) {
  servers_[1].kill();
  const Contender c = contender();  // kLong: it would wait too long
  EXPECT_EQ(taken(c->acquire({.deadline = 3 * kShort})), "x-x");
  auto again = c->async_acquire();  // without a deadline
  EXPECT_EQ(taken(get(again)), "x-x");
  servers_[1].start();
  ASSERT_TRUE(c.clients[1]->wait_until_connected(kTestTimeout));
  EXPECT_EQ(taken(c->acquire({.deadline = kTestTimeout})), "xxx");
}

TEST_F(Quorum, NotYetConnected_WaitsForConnections) {
  servers_[0].kill();
  servers_[1].kill();
  const Contender c = contender();
  auto waiting = c->async_acquire();
  servers_[0].start();
  servers_[1].start();
  EXPECT_TRUE(static_cast<bool>(get(waiting)));
}

TEST_F(Quorum, MajorityDown_ThrowsNotConnected) {
  servers_[0].kill();
  servers_[2].kill();
  const Contender c = contender({.ensemble_timeout = kShort});
  const std::string text = error_text_of([&] { return c->acquire(); });
  EXPECT_TRUE(text.starts_with("lock /lock: no majority of the ensembles is left (")) << text;
  EXPECT_NE(text.find(servers_[0].hosts()), std::string::npos) << text;
  EXPECT_EQ(text.find(servers_[1].hosts()), std::string::npos) << text;
  EXPECT_NE(text.find(servers_[2].hosts()), std::string::npos) << text;
  EXPECT_EQ(error_of([&] { c->lock(); }), Errc::not_connected);
  EXPECT_EQ(error_of([&] { return c->try_lock(); }), Errc::not_connected);
  auto future = c->async_acquire({.deadline = std::chrono::seconds(1)});
  EXPECT_EQ(error_of([&] { return get(future); }), Errc::not_connected);
  EXPECT_TRUE(reaches_nodes({0, 0, 0}));
}

// The server accepts connections but does not answer.
TEST_F(Quorum, EnsemblePaused_IsSkippedAndNodeDeletedLater) {
  const Contender c = contender({.ensemble_timeout = kShort});
  servers_[0].pause();
  QuorumHold hold = c->acquire({.deadline = kTestTimeout});
  EXPECT_EQ(taken(hold), "-xx");
  hold.release();
  servers_[0].resume();
  EXPECT_TRUE(reaches_nodes({0, 0, 0}));
}

// The session timeout is so long that the client stays connected to the paused server.
TEST_F(Quorum, PausedButConnected_IsSkippedUntilItReplies) {
  const Contender c = contender({.ensemble_timeout = kLong}, kNone, std::chrono::seconds(60));
  servers_[0].pause();
  EXPECT_EQ(taken(c->acquire({.deadline = 3 * kShort})), "-xx");
  for (int i = 0; i < 4; ++i) {
    auto again = c->async_acquire();  // without a deadline, it would wait for kLong
    EXPECT_EQ(taken(get(again)), "-xx");
  }
  EXPECT_TRUE(c->try_lock());
  c->unlock();
  ASSERT_TRUE(c.clients[0]->is_connected()) << "it was disconnected before the test was over";
  servers_[0].resume();
  EXPECT_TRUE(eventually(
      [&] {
        auto each = c->async_acquire();
        return taken(get(each)) == "xxx";
      },
      kTestTimeout));
  EXPECT_TRUE(reaches_nodes({0, 0, 0}));
}

TEST_F(Quorum, MajorityReturnsBeforeDeadline_IsGranted) {
  const Contender c = contender({.ensemble_timeout = std::chrono::milliseconds(200)});
  servers_[0].kill();
  servers_[2].kill();
  EXPECT_EQ(error_of([&] { return c->acquire(); }), Errc::not_connected);
  EXPECT_EQ(error_of([&] { return c->try_lock(); }), Errc::not_connected);
  auto waiting = c->async_acquire({.deadline = kTestTimeout});
  servers_[0].start();
  servers_[2].start();
  const QuorumHold hold = get(waiting);
  EXPECT_EQ(hold.state(), HoldState::held);
}

TEST_F(Quorum, LongestEnsembleTimeout_WaitsUntilDeadline) {
  servers_[0].kill();
  servers_[2].kill();
  const Contender c = contender({.ensemble_timeout = std::chrono::milliseconds::max()});
  const auto deadline = LeaseClock::now() + std::chrono::milliseconds(500);
  EXPECT_EQ(error_of([&] { return c->acquire({.deadline = deadline}); }), Errc::not_connected);
  EXPECT_GE(LeaseClock::now(), deadline);
}

// Each contender has another unreachable ensemble, so each acquires another majority.
TEST_F(Quorum, DifferentEnsemblesDown_ExcludesWithoutDeadlock) {
  constexpr int kRounds = 15;
  std::atomic<int> inside{0};
  std::atomic<int> overlaps{0};
  int done = 0;  // guarded by the lock
  std::vector<std::future<void>> contenders;
  for (std::size_t unreachable = 0; unreachable < kEnsembles; ++unreachable) {
    contenders.push_back(in_thread([&, unreachable] {
      const Contender c = contender({.ensemble_timeout = kShort}, unreachable);
      for (int round = 0; round < kRounds; ++round) {
        const std::lock_guard guard(*c.mutex);
        if (++inside != 1) ++overlaps;
        ++done;
        --inside;
      }
    }));
  }
  for (auto& each : contenders) get(each);
  EXPECT_EQ(done, 3 * kRounds);
  EXPECT_EQ(overlaps, 0);
  EXPECT_TRUE(reaches_nodes({0, 0, 0}));
}

}  // namespace
}  // namespace zklock::testing
