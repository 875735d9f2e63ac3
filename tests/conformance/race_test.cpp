// SPDX-License-Identifier: Apache-2.0
// Many calls at once: grants of one client and of others, and deadlines and stops that race with
// grants. A call that joins a single attempt of its owner: it can be stopped, and only its own
// deadline ends it.
#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstddef>
#include <exception>
#include <future>
#include <memory>
#include <mutex>
#include <random>
#include <regex>
#include <stop_token>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include <gtest/gtest.h>
#include <sys/types.h>

#include "conformance/chronicle.h"
#include "conformance/lock_test.h"

namespace zklock::testing {
namespace {

// Holds never overlap, and tokens increase in the order of the grants. The other client is granted
// too, although the threads of the first always contend.
TEST_F(LockTest, BusyThreadsOfAClient_OtherClientIsGrantedToo) {
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
    EXPECT_EQ(lock.acquire().token(), hold.token()) << "nests, also in a hold that was handed off";
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
  EXPECT_TRUE(std::ranges::is_sorted(all));
  EXPECT_TRUE(std::ranges::any_of(all, [](const FencingToken& t) { return t.grant_index > 0; }));
  EXPECT_TRUE(becomes_empty());
}

TEST_F(LockTest, WaitersOfAClient_ShareAZnode) {
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
  EXPECT_TRUE(std::ranges::is_sorted(tokens));
  EXPECT_EQ(tokens.front().zxid, tokens.back().zxid);
  EXPECT_EQ(raw().exists(hold.node()).stat.czxid, hold.token().zxid);
  hold.release();
  EXPECT_TRUE(becomes_empty());
}

TEST_F(LockTest, ObjectsOfAnIdleLockDestroyed_LeaveNoWatch) {
  const auto client = connect();
  {
    ReentrantMutex mutex(*client, kPath, {.max_local_handoffs = 3, .keep_idle_for = 1h});
    for (int i = 0; i < 5; ++i) {
      mutex.lock();
      mutex.unlock();
    }
    const auto all = mutex.participants();
    ASSERT_EQ(all.size(), 1U);
    EXPECT_TRUE(all.front().mine && all.front().holds) << "the idle znode is retained";
  }
  EXPECT_TRUE(becomes_empty());
  EXPECT_TRUE(client->flush(kTestTimeout));
  if (const TestServer* const server = SharedServer::server()) {
    EXPECT_TRUE(eventually([&] { return !watched(*server, kPath); }, kTestTimeout));
  }
}

// If a grant were never released, the last call would not end.
TEST_F(LockTest, TimedCallsOfManyThreads_ReturnFalseOrHold) {
  constexpr int kThreads = 200;
  constexpr int kCalls = 5;
  const auto client = connect();
  const auto other = connect();
  for (const int batch : {1, 16}) {
    Mutex mutex(*client, kPath, {.max_local_handoffs = batch});
    Mutex others(*other, kPath, {.max_local_handoffs = batch});
    std::atomic<int> inside{0};
    std::atomic<int> overlaps{0};
    std::vector<std::jthread> threads;
    for (int i = 0; i < kThreads; ++i) {
      threads.emplace_back([&, i] {
        std::minstd_rand random(static_cast<unsigned>(i));
        Mutex& its = i % 4 == 0 ? others : mutex;
        for (int call = 0; call < kCalls; ++call) {
          if (!its.try_lock_for(std::chrono::milliseconds(1 + random() % 200))) continue;
          if (++inside != 1) ++overlaps;
          --inside;
          its.unlock();
        }
      });
    }
    threads.clear();
    EXPECT_EQ(overlaps, 0);
    EXPECT_TRUE(client->flush(kTestTimeout));
    EXPECT_TRUE(other->flush(kTestTimeout));
    EXPECT_TRUE(nodes().empty());
    EXPECT_TRUE(mutex.try_lock_for(kTestTimeout));
    mutex.unlock();
  }
}

// A grant runs through the queue of calls while one stop source ends all of them.
TEST_F(LockTest, OneStopOfManyCalls_EachEndsOnce) {
  constexpr int kRounds = 20;
  constexpr std::size_t kCalls = 100;
  const auto client = connect();
  for (const int batch : {1, 16}) {
    Mutex mutex(*client, kPath, {.max_local_handoffs = batch});
    for (int round = 0; round < kRounds; ++round) {
      Hold first = mutex.acquire();
      std::stop_source stop;
      std::atomic<std::size_t> ended{0};
      for (std::size_t i = 0; i < kCalls; ++i) {
        mutex.async_acquire({.owner = Owner::unique(), .stop = stop.get_token()},
                            [&ended](Hold hold, const std::exception_ptr& error) {
                              EXPECT_FALSE(error);
                              hold.release();
                              ++ended;
                            });
      }
      std::jthread releases([&first] { first.release(); });
      stop.request_stop();
      releases.join();
      EXPECT_TRUE(eventually([&] { return ended == kCalls; }, kTestTimeout));
      ASSERT_TRUE(becomes_empty());
    }
  }
}

// The server is paused while the second call joins, so the first call cannot have ended before.
class JoinedAttempt : public OwnServerTest {
 protected:
  ClientOptions patient() const {
    ClientOptions patient = options();
    patient.session_timeout = 30s;  // no loss while the server is paused
    return patient;
  }
  AcquireOptions once() const { return {.owner = owner_, .deadline = Deadline::passed()}; }

  const std::unique_ptr<Client> other_ = connect(patient());
  ReentrantMutex others_mutex_{*other_, kPath};
  Hold others_hold_ = others_mutex_.acquire();
  const std::unique_ptr<Client> client_ = connect(patient());
  ReentrantMutex mutex_{*client_, kPath};
  const Owner owner_ = Owner::unique();
};

TEST_F(JoinedAttempt, Stopped_LeavesTheQueue) {
  for (const bool during_attempt : {true, false}) {
    std::stop_source stop;
    server_.pause();
    auto attempt = mutex_.async_acquire(once());
    auto joined = mutex_.async_acquire({.owner = owner_, .stop = stop.get_token()});
    if (during_attempt) {
      stop.request_stop();
      EXPECT_FALSE(get(joined));
    }
    server_.resume();
    EXPECT_FALSE(get(attempt));
    if (!during_attempt) {
      ASSERT_TRUE(reaches_nodes(2));
      EXPECT_FALSE(is_ready(joined));
      stop.request_stop();
      EXPECT_FALSE(get(joined));
    }
    EXPECT_TRUE(reaches_nodes(1));
    EXPECT_EQ(others_hold_.state(), HoldState::held);
  }
}

TEST_F(JoinedAttempt, OwnDeadlinePassed_OnlyThatCallEnds) {
  server_.pause();
  auto attempt = mutex_.async_acquire(once());
  const auto deadline = LeaseClock::now() + 1s;
  auto timed = mutex_.async_acquire(AcquireOptions{.owner = owner_, .deadline = deadline});
  auto untimed = mutex_.async_acquire(AcquireOptions{.owner = owner_});
  server_.resume();
  EXPECT_FALSE(static_cast<bool>(get(attempt)));
  EXPECT_FALSE(static_cast<bool>(get(timed)));
  EXPECT_GE(LeaseClock::now(), deadline);
  EXPECT_FALSE(is_ready(untimed));
  EXPECT_EQ(others_hold_.state(), HoldState::held);
  others_hold_.release();
  EXPECT_TRUE(static_cast<bool>(get(untimed)));
  EXPECT_TRUE(becomes_empty());
}

// ---- threads of one client that wait for each other ---------------------------------------------

class DeadlockTest : public LockTest {
 protected:
  // Locks `first`, waits for the other threads, and locks `second`. Returns the text of the error.
  // A victim unlocks `first`, so that the others can go on.
  template <class First, class Second>
  std::string lock_both(First& first, Second& second, std::size_t threads) {
    first.lock();
    ++ready_;
    EXPECT_TRUE(eventually([&] { return ready_ == threads; }, kTestTimeout));
    std::string text;
    try {
      second.lock();
      second.unlock();
    } catch (const Error& error) {
      EXPECT_EQ(error.errc(), Errc::would_deadlock);
      text = error.what();
    }
    first.unlock();
    return text;
  }
  // Returns the texts that are not empty.
  static std::vector<std::string> texts(std::vector<std::future<std::string>> threads) {
    std::vector<std::string> found;
    for (auto& thread : threads) {
      if (auto text = get(thread); !text.empty()) found.push_back(std::move(text));
    }
    return found;
  }
  const std::unique_ptr<Client> client_ = connect();
  ReentrantMutex a_{*client_, "/a"};
  ReentrantMutex b_{*client_, "/b"};
  ReentrantMutex c_{*client_, "/c"};
  std::atomic<std::size_t> ready_{0};
};

TEST_F(DeadlockTest, TwoMutexes_OneThrowsAndOtherGoesOn) {
  std::vector<std::future<std::string>> threads;
  threads.push_back(in_thread([&] { return lock_both(a_, b_, 2); }));
  threads.push_back(in_thread([&] { return lock_both(b_, a_, 2); }));
  const auto found = texts(std::move(threads));
  ASSERT_EQ(found.size(), 1U);
  const bool at_a = found[0].starts_with("lock /a");
  const std::string expected = std::string(at_a ? "lock /a" : "lock /b") +
                               ": the thread \"$NAME\" (owner $OWNER) holds it and waits for " +
                               (at_a ? "/b" : "/a") +
                               ", which this owner holds; acquire both in one order, or with a "
                               "MultiMutex [would_deadlock]";
  std::string text = std::regex_replace(found[0], std::regex(R"("[^"]*")"), R"("$$NAME")");
  text = std::regex_replace(text, std::regex("owner [0-9a-f]+-[0-9]+"), "owner $$OWNER");
  EXPECT_EQ(text, expected);
  const LockMetrics counts = client_->metrics().locks.at(0);
  EXPECT_EQ(counts.deadlocks, 1U);
  EXPECT_EQ(counts.acquires[static_cast<std::size_t>(AcquireEnd::failed)].count(), 1U);
  EXPECT_EQ(counts.acquires[static_cast<std::size_t>(AcquireEnd::cancelled)].count(), 0U);
  EXPECT_TRUE(is_free("/a"));
  EXPECT_TRUE(is_free("/b"));
}

TEST_F(DeadlockTest, ThreeMutexes_OneThrows) {
  std::vector<std::future<std::string>> threads;
  threads.push_back(in_thread([&] { return lock_both(a_, b_, 3); }));
  threads.push_back(in_thread([&] { return lock_both(b_, c_, 3); }));
  threads.push_back(in_thread([&] { return lock_both(c_, a_, 3); }));
  EXPECT_EQ(texts(std::move(threads)).size(), 1U);
}

// The reader of /shared waits for /c. Its holder waits to read /shared, behind a writer. The last
// of them fails.
TEST_F(DeadlockTest, ReaderBehindWriter_OneThrows) {
  SharedMutex shared(*client_, "/shared");
  std::vector<std::future<std::string>> threads;
  threads.push_back(in_thread([&] {
    shared.lock_shared();
    EXPECT_TRUE(reaches_nodes(3, "/shared"));
    std::string text = error_text_of([&] {
      c_.lock();
      c_.unlock();
    });
    shared.unlock_shared();
    return text;
  }));
  threads.push_back(in_thread([&] {
    EXPECT_TRUE(reaches_nodes(1, "/shared"));
    return error_text_of([&] {
      shared.lock();
      shared.unlock();
    });
  }));
  threads.push_back(in_thread([&] {
    c_.lock();
    EXPECT_TRUE(reaches_nodes(2, "/shared"));
    std::string text = error_text_of([&] {
      shared.lock_shared();
      shared.unlock_shared();
    });
    c_.unlock();
    return text;
  }));
  const auto found = texts(std::move(threads));
  ASSERT_EQ(found.size(), 1U);
  EXPECT_NE(found[0].find(" is ahead"), std::string::npos) << found[0];
  EXPECT_TRUE(found[0].ends_with("[would_deadlock]")) << found[0];
}

TEST_F(DeadlockTest, WaitWithDeadline_DoesNotThrow) {
  std::vector<std::future<std::string>> threads;
  std::atomic<bool> timed_out{false};
  threads.push_back(in_thread([&] {
    struct Timed {
      ReentrantMutex& mutex;
      std::atomic<bool>& timed_out;
      void lock() { timed_out = !mutex.try_lock_for(500ms); }
      void unlock() {
        if (!timed_out) mutex.unlock();
      }
    } timed{b_, timed_out};
    return lock_both(a_, timed, 2);
  }));
  threads.push_back(in_thread([&] { return lock_both(b_, a_, 2); }));
  EXPECT_TRUE(texts(std::move(threads)).empty());
  EXPECT_TRUE(timed_out);
}

TEST_F(DeadlockTest, ScopedLocks_NeverThrow) {
  const auto run = [](ReentrantMutex& first, ReentrantMutex& second) {
    for (int i = 0; i < 20; ++i) {
      const std::scoped_lock both(first, second);
    }
  };
  auto one = in_thread([&] { run(a_, b_); });
  auto two = in_thread([&] { run(b_, a_); });
  EXPECT_NO_THROW(get(one));
  EXPECT_NO_THROW(get(two));
}

}  // namespace
}  // namespace zklock::testing
