// SPDX-License-Identifier: Apache-2.0
// Closing a client during calls of other threads.
#include <atomic>
#include <future>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include <gtest/gtest.h>

#include "conformance/lock_test.h"
#include "conformance/shutdown_fixture.h"

namespace zklock::testing {
namespace {

// Counts that its thread is about to end. The library learns of that end after all thread_local
// objects are destroyed.
struct LastWord {
  std::atomic<int>* received = nullptr;
  ~LastWord() {
    if (received != nullptr) ++*received;
  }
};

// Each thread ends at the moment at which its lock, of a closed client, is destroyed.
TEST_F(Shutdown, ThreadsEndWhileLocksAreDestroyed_AllEnd) {
  constexpr int kThreads = 64;
  std::vector<std::unique_ptr<ReentrantMutex>> mutexes;
  std::vector<std::future<void>> threads;
  std::atomic<int> locked{0};
  std::atomic<int> next{-1};
  std::atomic<int> ending{0};
  for (int i = 0; i < kThreads; ++i) {
    mutexes.push_back(std::make_unique<ReentrantMutex>(*client_, "/of/" + std::to_string(i)));
    threads.push_back(in_thread([&, i, mutex = mutexes.back().get()] {
      thread_local LastWord last_word;
      mutex->lock();
      last_word.received = &ending;
      ++locked;
      while (next < i) std::this_thread::yield();
    }));
  }
  ASSERT_TRUE(eventually([&] { return locked == kThreads; }, kTestTimeout));
  client_->close();
  for (int i = 0; i < kThreads; ++i) {
    next = i;
    while (ending <= i) {
    }
    mutexes[static_cast<std::size_t>(i)].reset();
  }
  for (auto& thread : threads) get(thread);
}

TEST_F(Shutdown, CloseByManyThreads_LosesHold) {
  const Hold hold = mutex_.acquire();
  std::vector<std::future<void>> closing;
  for (int i = 0; i < 4; ++i) {
    closing.push_back(in_thread([this] {
      client_->close();
      EXPECT_FALSE(client_->is_connected());
    }));
  }
  for (auto& future : closing) get(future);
  EXPECT_EQ(hold.state(), HoldState::lost);
}

TEST_F(Shutdown, CloseDuringCalls_EndsThemWithClosed) {
  for (int round = 0; round < 5; ++round) {
    const auto client = connect();
    ReentrantMutex mutex(*client, kPath);
    std::atomic<bool> begun{false};
    std::vector<std::future<void>> threads;
    for (int i = 0; i < 4; ++i) {
      threads.push_back(in_thread([&] {
        for (;;) {
          const auto error = error_of([&] { return mutex.acquire({.deadline = kTestTimeout}); });
          begun = true;
          if (!error) continue;
          EXPECT_EQ(error, Errc::closed);
          return;
        }
      }));
    }
    EXPECT_TRUE(eventually([&] { return begun.load(); }, kTestTimeout));
    client->close();
    for (auto& thread : threads) get(thread);
  }
  EXPECT_TRUE(becomes_empty());
}

TEST_F(Shutdown, CloseRacesWithFlush_BothEnd) {
  constexpr int kRounds = 50;
  for (int round = 0; round < kRounds; ++round) {
    const auto client = connect();
    ReentrantMutex mutex(*client, kPath);
    mutex.acquire().release();
    std::atomic<bool> begun{false};
    auto flushing = in_thread([&] {
      begun = true;
      return client->flush();
    });
    EXPECT_TRUE(eventually([&] { return begun.load(); }, kTestTimeout, 0ms));
    client->close();
    static_cast<void>(get(flushing));
  }
  EXPECT_TRUE(becomes_empty());
}

TEST_F(Shutdown, CloseRacesWithLock_GrantsOrThrowsClosed) {
  constexpr int kRounds = 50;
  int granted = 0;
  for (int round = 0; round < kRounds; ++round) {
    const auto client = connect();
    ReentrantMutex mutex(*client, kPath);
    std::atomic<bool> begun{false};
    auto locking = in_thread([&] {
      begun = true;
      return error_of([&] { mutex.lock(); });
    });
    EXPECT_TRUE(eventually([&] { return begun.load(); }, kTestTimeout, 0ms));
    client->close();
    const auto error = get(locking);
    if (error) {
      EXPECT_EQ(error, Errc::closed);
    } else {
      ++granted;
    }
  }
  RecordProperty("granted", granted);
  EXPECT_TRUE(becomes_empty());
}

TEST_F(Shutdown, CloseRacesWithAsyncAcquire_CallsHandlerOrThrows) {
  constexpr int kRounds = 50;
  int thrown = 0;
  for (int round = 0; round < kRounds; ++round) {
    std::atomic<int> handled{0};
    std::atomic<bool> begun{false};
    const auto client = connect();
    ReentrantMutex mutex(*client, kPath);
    auto starting = in_thread([&] {
      begun = true;
      return error_of([&] {
        mutex.async_acquire({}, [&](const Hold& hold, const std::exception_ptr& error) {
          EXPECT_EQ(static_cast<bool>(hold), error == nullptr);
          ++handled;
        });
      });
    });
    EXPECT_TRUE(eventually([&] { return begun.load(); }, kTestTimeout, 0ms));
    client->close();
    const auto error = get(starting);
    if (error) {
      ++thrown;
      EXPECT_EQ(error, Errc::closed);
      EXPECT_EQ(handled, 0) << "round " << round;
    } else {
      EXPECT_TRUE(eventually([&] { return handled == 1; }, kTestTimeout)) << "round " << round;
    }
  }
  RecordProperty("thrown", thrown);
  EXPECT_TRUE(becomes_empty());
}

}  // namespace
}  // namespace zklock::testing
