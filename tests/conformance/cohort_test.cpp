// SPDX-License-Identifier: Apache-2.0
// A znode that contenders of one client share (max_local_handoffs), and an idle retained znode
// (keep_idle_for).
#include <atomic>
#include <cstddef>
#include <future>
#include <vector>

#include <gtest/gtest.h>

#include "conformance/chronicle.h"
#include "conformance/lock_test.h"

namespace zklock::testing {
namespace {

// Longer than any test runs.
constexpr std::chrono::hours kForLong{1};

class CohortTest : public LockTest {
 protected:
  static void expect_rising(const std::vector<FencingToken>& tokens) {
    for (std::size_t i = 1; i < tokens.size(); ++i) EXPECT_LT(tokens[i - 1], tokens[i]);
  }
};

// Holds never overlap, and tokens increase in the order of the grants. The other client is granted
// too, although the threads of the first always contend.
TEST_F(CohortTest, BusyThreadsOfAClient_OtherClientIsGrantedToo) {
  constexpr int kThreads = 8;
  constexpr int kBatch = 4;
  constexpr int kLocksOutside = 10;
  const auto client = connect();
  const auto other = connect();
  ReentrantMutex mutex(*client, kPath, {.max_local_handoffs = kBatch});
  ReentrantMutex outside(*other, kPath);
  Chronicle<FencingToken> tokens;
  std::atomic<int> inside{0};
  std::atomic<int> overlaps{0};
  std::atomic<bool> over{false};
  std::atomic<std::size_t> grants{0};
  const auto take = [&](ReentrantMutex& lock) {
    const Hold hold = lock.acquire();
    if (++inside != 1) ++overlaps;
    tokens.add(hold.token());
    --inside;
  };
  std::vector<std::future<void>> threads;
  for (int t = 0; t < kThreads; ++t) {
    threads.push_back(in_thread([&] {
      while (!over) {
        take(mutex);
        ++grants;
      }
    }));
  }
  EXPECT_TRUE(eventually([&] { return grants > std::size_t{2} * kThreads; }, kTestTimeout));
  for (int i = 0; i < kLocksOutside; ++i) take(outside);
  over = true;
  for (auto& thread : threads) get(thread);
  EXPECT_EQ(overlaps, 0);
  const auto all = tokens.all();
  expect_rising(all);
  EXPECT_TRUE(std::ranges::any_of(all, [](const FencingToken& t) { return t.grant_index > 0; }));
  EXPECT_TRUE(becomes_empty());
}

TEST_F(CohortTest, WaitersOfAClient_ShareAZnode) {
  const auto client = connect();
  ReentrantMutex mutex(*client, kPath, {.max_local_handoffs = 100});
  Hold hold = mutex.acquire();
  std::vector<std::future<Hold>> waiting;
  for (int i = 0; i < 20; ++i) waiting.push_back(mutex.async_acquire());
  EXPECT_EQ(nodes().size(), 1U);
  std::vector<FencingToken> tokens{hold.token()};
  for (auto& next : waiting) {
    EXPECT_FALSE(is_ready(next));
    hold.release();
    hold = get(next);
    EXPECT_EQ(hold.state(), HoldState::held);
    tokens.push_back(hold.token());
  }
  expect_rising(tokens);
  EXPECT_EQ(tokens.front().zxid, tokens.back().zxid);
  EXPECT_EQ(raw().exists(hold.node()).stat.czxid, hold.token().zxid);
  hold.release();
  EXPECT_TRUE(becomes_empty());
}

TEST_F(CohortTest, HandedOffHold_ThreadsNestInIt) {
  const auto client = connect();
  ReentrantMutex mutex(*client, kPath, {.max_local_handoffs = 100, .keep_idle_for = kForLong});
  std::vector<std::future<void>> threads;
  for (int t = 0; t < 4; ++t) {
    threads.push_back(in_thread([&] {
      for (int i = 0; i < 50; ++i) {
        const std::scoped_lock outer(mutex);
        const FencingToken token = mutex.acquire().token();
        for (int j = 0; j < 3; ++j) {
          const std::scoped_lock inner(mutex);
          EXPECT_EQ(mutex.hold_count(), 2);
          EXPECT_EQ(mutex.acquire().token(), token);
        }
      }
    }));
  }
  for (auto& thread : threads) get(thread);
  EXPECT_EQ(mutex.hold_count(), 0);
}

class IdleLock : public CohortTest {
 protected:
  // Returns whether the znode that this client retains is the only contender.
  bool is_kept(const ReentrantMutex& mutex) const {
    const auto all = mutex.participants();
    return all.size() == 1 && all.front().mine && all.front().holds;
  }
};

TEST_F(IdleLock, LockedAgain_ReusesTheIdleZnode) {
  const auto client = connect();
  ReentrantMutex mutex(*client, kPath, {.keep_idle_for = kForLong});
  std::vector<FencingToken> tokens;
  for (int i = 0; i < 10; ++i) {
    const Hold hold = mutex.acquire();
    tokens.push_back(hold.token());
  }
  expect_rising(tokens);
  EXPECT_EQ(tokens.front().zxid, tokens.back().zxid);
  EXPECT_TRUE(is_kept(mutex));
}

TEST_F(IdleLock, ObjectsAreDestroyed_NoZnodeAndNoWatchRemain) {
  const auto client = connect();
  {
    ReentrantMutex mutex(*client, kPath, {.max_local_handoffs = 3, .keep_idle_for = kForLong});
    for (int i = 0; i < 5; ++i) {
      mutex.lock();
      mutex.unlock();
    }
    EXPECT_TRUE(is_kept(mutex));
  }
  EXPECT_TRUE(becomes_empty());
  EXPECT_TRUE(client->flush(kTestTimeout));
  if (const TestServer* const server = SharedServer::server()) {
    EXPECT_TRUE(eventually([&] { return !watched(*server, kPath); }, kTestTimeout));
  }
}

ClientOptions nowhere() {
  ClientOptions options;
  options.hosts = "127.0.0.1:1";
  return options;
}

TEST(CohortOptions, OptionsOutOfRange_AreRefused) {
  Client client(nowhere());
  const auto made = [&](const CohortOptions& options) {
    return error_of([&] { return ReentrantMutex(client, kPath, options).hold_count(); });
  };
  EXPECT_EQ(made({.max_local_handoffs = 1, .keep_idle_for = 0ms}), std::nullopt);
  EXPECT_EQ(made({.max_local_handoffs = 2, .keep_idle_for = std::chrono::milliseconds::max()}),
            std::nullopt);
  EXPECT_EQ(made({.max_local_handoffs = 0}), Errc::invalid_option);
  EXPECT_EQ(made({.max_local_handoffs = -1}), Errc::invalid_option);
  EXPECT_EQ(made({.keep_idle_for = -1ms}), Errc::invalid_option);
}

}  // namespace
}  // namespace zklock::testing
