// SPDX-License-Identifier: Apache-2.0
// Threads of one client that wait for each other.
#include <atomic>
#include <chrono>
#include <cstddef>
#include <future>
#include <memory>
#include <mutex>
#include <regex>
#include <string>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "conformance/lock_test.h"

namespace zklock::testing {
namespace {

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

TEST_F(DeadlockTest, ReaderAndWriter_OneThrows) {
  SharedMutex shared(*client_, "/shared");
  struct Reader {
    SharedMutex& mutex;
    void lock() { mutex.lock_shared(); }
    void unlock() { mutex.unlock_shared(); }
  } reader{shared};
  std::vector<std::future<std::string>> threads;
  threads.push_back(in_thread([&] { return lock_both(reader, b_, 2); }));
  threads.push_back(in_thread([&] { return lock_both(b_, shared, 2); }));
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

// Two dispatchers acquire in opposite orders, and move their holds to workers, which release them.
TEST_F(DeadlockTest, HoldsMovedToWorkers_AreGranted) {
  std::atomic<bool> releases{false};
  const auto dispatch = [&](ReentrantMutex& first, ReentrantMutex& second) {
    auto worker = in_thread([&, hold = first.acquire()]() mutable {
      ++ready_;
      EXPECT_TRUE(eventually([&] { return releases.load(); }, kTestTimeout));
      hold.release();
    });
    EXPECT_TRUE(eventually([&] { return ready_ == 2; }, kTestTimeout));
    second.lock();
    second.unlock();
    get(worker);
  };
  auto one = in_thread([&] { dispatch(a_, b_); });
  auto two = in_thread([&] { dispatch(b_, a_); });
  EXPECT_TRUE(reaches_nodes(2, "/a"));
  EXPECT_TRUE(reaches_nodes(2, "/b"));
  releases = true;
  EXPECT_NO_THROW(get(one));
  EXPECT_NO_THROW(get(two));
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

// Many threads contend for several locks in one order.
TEST_F(DeadlockTest, OneOrder_NeverThrows) {
  std::vector<std::future<void>> threads;
  for (int t = 0; t < 6; ++t) {
    threads.push_back(in_thread([&] {
      for (int i = 0; i < 10; ++i) {
        const std::lock_guard a(a_);
        const std::lock_guard b(b_);
        const std::lock_guard c(c_);
      }
    }));
  }
  for (auto& thread : threads) EXPECT_NO_THROW(get(thread));
}

}  // namespace
}  // namespace zklock::testing
