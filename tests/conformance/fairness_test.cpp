// SPDX-License-Identifier: Apache-2.0
// First come, first served. Tokens always increase, also across restarts of the server.
#include <cstddef>
#include <future>
#include <memory>
#include <vector>

#include <gtest/gtest.h>

#include "conformance/chronicle.h"
#include "conformance/lock_test.h"

namespace zklock::testing {
namespace {

class Fairness : public LockTest {
 protected:
  // A contender with its own client.
  struct Contender {
    std::unique_ptr<Client> client;
    std::unique_ptr<ReentrantMutex> mutex;
    std::future<void> turn;
  };
};

TEST_F(Fairness, ManyWaiters_AreGrantedInOrderOfArrival) {
  constexpr std::size_t kWaiters = 8;
  const auto first = connect();
  ReentrantMutex mutex(*first, kPath);
  Hold hold = mutex.acquire();
  Chronicle<std::size_t> order;
  Chronicle<FencingToken> tokens;
  tokens.add(hold.token());

  std::vector<Contender> contenders(kWaiters);
  for (std::size_t i = 0; i < kWaiters; ++i) {
    Contender& contender = contenders[i];
    contender.client = connect();
    contender.mutex = std::make_unique<ReentrantMutex>(*contender.client, kPath);
    contender.turn = in_thread([&order, &tokens, &contender, i] {
      const Hold turn = contender.mutex->acquire();
      order.add(i);
      tokens.add(turn.token());
    });
    ASSERT_TRUE(reaches_nodes(i + 2));  // it is enqueued
  }
  EXPECT_EQ(order.size(), 0U);
  hold.release();
  for (Contender& contender : contenders) get(contender.turn);

  const auto granted = order.all();
  for (std::size_t i = 0; i < kWaiters; ++i) EXPECT_EQ(granted.at(i), i);
  const auto all = tokens.all();
  for (std::size_t i = 1; i < all.size(); ++i) EXPECT_LT(all[i - 1], all[i]);
  EXPECT_TRUE(becomes_empty());
}

// Threads of several clients contend for one lock. Holds never overlap, and tokens increase in the
// order of the grants.
TEST_F(Fairness, ManyContenders_HoldsDoNotOverlapAndTokensIncrease) {
  constexpr int kClients = 3;
  constexpr int kThreads = 2;
  constexpr int kRounds = 10;
  Chronicle<FencingToken> tokens;
  std::atomic<int> inside{0};
  std::atomic<int> overlaps{0};
  std::vector<std::unique_ptr<Client>> clients;
  std::vector<std::future<void>> threads;
  for (int c = 0; c < kClients; ++c) clients.push_back(connect());
  for (int t = 0; t < kClients * kThreads; ++t) {
    threads.push_back(in_thread([&, &client = *clients[static_cast<std::size_t>(t % kClients)]] {
      ReentrantMutex mutex(client, kPath);
      for (int round = 0; round < kRounds; ++round) {
        const Hold hold = mutex.acquire();
        if (++inside != 1) ++overlaps;
        tokens.add(hold.token());
        EXPECT_EQ(hold.state(), HoldState::held);
        --inside;
      }
    }));
  }
  for (auto& thread : threads) get(thread);
  EXPECT_EQ(overlaps, 0);
  const auto all = tokens.all();
  ASSERT_EQ(all.size(), static_cast<std::size_t>(kClients * kThreads * kRounds));
  for (std::size_t i = 1; i < all.size(); ++i) EXPECT_LT(all[i - 1], all[i]);
  EXPECT_TRUE(becomes_empty());
}

class Tokens : public OwnServerTest {};

TEST_F(Tokens, ParentDeletedOrServerCrashed_TokensIncrease) {
  const auto client = connect();
  ReentrantMutex mutex(*client, kPath);
  const auto lock_once = [](ReentrantMutex& m) {
    const Hold hold = m.acquire();
    return std::pair(hold.token(), hold.node());
  };
  const auto [first, first_node] = lock_once(mutex);
  const auto [second, second_node] = lock_once(mutex);
  EXPECT_LT(first, second);
  EXPECT_LT(first_node, second_node);

  ASSERT_TRUE(becomes_empty());
  ASSERT_EQ(raw().delete_node(kPath), ZOK);
  const auto [third, third_node] = lock_once(mutex);
  EXPECT_EQ(third_node, first_node) << "the sequence starts again with the parent";
  EXPECT_LT(second, third);

  kill_and_restart();
  const auto [fourth, fourth_node] = lock_once(mutex);
  EXPECT_LT(third, fourth);

  ASSERT_TRUE(eventually([&] { return raw().delete_recursive(kPath) == ZOK; }, kTestTimeout));
  const auto newcomer = connect();
  ReentrantMutex newcomers_mutex(*newcomer, kPath);
  const auto [fifth, fifth_node] = lock_once(newcomers_mutex);
  EXPECT_EQ(fifth_node, first_node);
  EXPECT_LT(fourth, fifth);
}

}  // namespace
}  // namespace zklock::testing
