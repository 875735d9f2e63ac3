// SPDX-License-Identifier: Apache-2.0
// On a real server: a lock path whose sequence counter is at its end, and a hand-made znode with a
// name ahead of the counter.
#include <atomic>
#include <chrono>
#include <cstdint>
#include <future>
#include <limits>
#include <memory>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include <gtest/gtest.h>

#include "conformance/lock_test.h"
#include "support/snapshot.h"

namespace zklock::testing {
namespace {

class CounterEnd : public OwnServerTest {
 protected:
  CounterEnd() : OwnServerTest({.extra_jvm_flags = plain_snapshot_flags()}) {}

  // Restarts the server with this counter of the lock path. REQUIRES: clients connect afterwards.
  void set_counter(std::int32_t counter) {
    server_.restart();  // the server writes a snapshot at its start
    ASSERT_TRUE(server_.wait_until_serving()) << server_.log();
    server_.stop();
    set_sequence_counter(server_.directory(), chroot_.path() + kPath, counter);
    start_again();
  }

  static constexpr std::int32_t kLast = std::numeric_limits<std::int32_t>::max();
};

TEST_F(CounterEnd, EmptyQueue_SequenceNumbersRestart) {
  FencingToken before;
  {
    const auto client = connect();
    before = ReentrantMutex(*client, kPath).acquire().token();
    ASSERT_TRUE(client->flush(kTestTimeout));
  }
  ASSERT_NO_FATAL_FAILURE(set_counter(kLast - 10));

  const auto client = connect();
  ReentrantMutex mutex(*client, kPath);
  const Hold hold = mutex.acquire({.deadline = kTestTimeout});
  EXPECT_EQ(hold.node(), kPath + "/lock-0000000000");
  EXPECT_GT(hold.token(), before);
  EXPECT_EQ(nodes().size(), 1U);
}

TEST_F(CounterEnd, AnotherChildExists_ErrorNamesIt) {
  ASSERT_EQ(raw().create(kPath).rc, ZOK);
  ASSERT_EQ(raw().create(kPath + "/config").rc, ZOK);
  ASSERT_NO_FATAL_FAILURE(set_counter(kLast));

  const auto client = connect();
  const auto other = connect();
  ReentrantMutex mutex(*client, kPath);
  ReentrantMutex others_mutex(*other, kPath);
  // Repeated, because the counter stays at its end: each znode would get the name of the last one.
  for (int attempt = 0; attempt < 3; ++attempt) {
    auto others = others_mutex.async_acquire();
    EXPECT_EQ(
        error_text_of([&] { mutex.lock(); }),
        "lock /lock: the sequence counter of the path is exhausted, and the path cannot be "
        "recreated while it has the child \"config\"; delete that child [sequence_exhausted]");
    EXPECT_EQ(error_of([&] { return get(others); }), Errc::sequence_exhausted);
  }
  ASSERT_TRUE(client->flush(kTestTimeout));
  ASSERT_TRUE(other->flush(kTestTimeout));
  EXPECT_EQ(nodes(), std::vector<std::string>{"config"});

  ASSERT_EQ(raw().delete_node(kPath + "/config"), ZOK);
  EXPECT_EQ(mutex.acquire({.deadline = kTestTimeout}).node(), kPath + "/lock-0000000000");
}

TEST_F(CounterEnd, SharedCount_SurvivesTheRecreationOfThePath) {
  FencingToken before;
  {
    const auto client = connect();
    Semaphore semaphore(*client, kPath, SharedCount{.initial = 2});
    semaphore.set_permits(3);
    before = semaphore.acquire().token();
    ASSERT_TRUE(client->flush(kTestTimeout));
  }
  ASSERT_NO_FATAL_FAILURE(set_counter(kLast));

  const auto client = connect();
  Semaphore semaphore(*client, kPath, SharedCount{.initial = 9});
  const Permit all = semaphore.acquire({.deadline = kTestTimeout}, 3);
  EXPECT_EQ(all.node(), kPath + "/permits-3-0000000001");
  EXPECT_GT(all.token(), before);
  EXPECT_FALSE(semaphore.try_acquire());
  EXPECT_EQ(semaphore.permits(), 3);
  EXPECT_EQ(nodes(), (std::vector<std::string>{"count", "permits-3-0000000001"}));
}

// Half of the threads use a new object for each call, so no state of an object carries over.
TEST_F(CounterEnd, CallsAreRepeatedEveryMillisecond_PathIsRecreated) {
  constexpr int kClients = 4;
  constexpr int kEnough = 5;  // calls of others seldom leave the path free
  ASSERT_EQ(raw().create(kPath).rc, ZOK);
  ASSERT_NO_FATAL_FAILURE(set_counter(kLast));

  std::vector<std::unique_ptr<Client>> clients;
  for (int i = 0; i < kClients; ++i) clients.push_back(connect());
  std::atomic<int> granted{0};
  std::atomic<int> inside{0};
  std::atomic<int> overlaps{0};
  const auto withdraw = std::chrono::steady_clock::now() + kTestTimeout;
  const auto contend = [&](Client& client, bool keeps_object) {
    std::optional<ReentrantMutex> mutex;
    while (granted < kEnough && std::chrono::steady_clock::now() < withdraw) {
      if (!mutex) mutex.emplace(client, kPath);
      if (keeps_object ? mutex->try_lock_for(1ms) : mutex->try_lock()) {
        if (++inside > 1) ++overlaps;
        ++granted;
        --inside;
        mutex->unlock();
      }
      if (!keeps_object) mutex.reset();
      std::this_thread::sleep_for(1ms);
    }
  };
  std::vector<std::future<void>> threads;
  for (const auto& client : clients) {
    for (const bool keeps_object : {true, false}) {
      threads.push_back(in_thread([&, keeps_object] { contend(*client, keeps_object); }));
    }
  }
  for (auto& thread : threads) EXPECT_NO_THROW(get(thread));
  EXPECT_GE(granted, kEnough);
  EXPECT_EQ(overlaps, 0);
}

}  // namespace
}  // namespace zklock::testing
