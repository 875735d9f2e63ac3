// SPDX-License-Identifier: Apache-2.0
// Callback threads that pass their tasks to the user's executor.
#include <algorithm>
#include <atomic>
#include <chrono>
#include <deque>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <stdexcept>
#include <thread>
#include <vector>

#include <gtest/gtest.h>

#include "fact.h"
#include "support/scarce_memory.h"
#include "zklock/client/threads/callback_threads.h"
#include "zklock/testing/servers/wait_for.h"

namespace zklock::client {
namespace {

using namespace std::chrono_literals;
using testing::eventually;
using testing::Fact;
using testing::Latch;

// A limit that no passing test reaches.
constexpr auto kAmpleTime = std::chrono::minutes(1);

// An executor on a thread of the user.
class UserThread {
 public:
  ~UserThread() {
    stopping_ = true;
    if (thread_.joinable()) thread_.join();
  }
  Executor executor() {
    return [this](std::function<void()> task) { post(std::move(task)); };
  }
  void post(std::function<void()> task) {
    const std::lock_guard lock(mutex_);
    tasks_.push_back(std::move(task));
  }
  void run_all() {
    for (;;) {
      std::function<void()> task;
      {
        const std::lock_guard lock(mutex_);
        if (tasks_.empty()) return;
        task = std::move(tasks_.front());
        tasks_.pop_front();
      }
      task();
    }
  }
  void start() {
    thread_ = std::thread([this] {
      while (!stopping_) {
        run_all();
        std::this_thread::yield();
      }
    });
  }
  void drop_all() {
    const std::lock_guard lock(mutex_);
    tasks_.clear();
  }
  std::size_t size() {
    const std::lock_guard lock(mutex_);
    return tasks_.size();
  }

 private:
  std::mutex mutex_;
  std::deque<std::function<void()>> tasks_;
  std::atomic<bool> stopping_ = false;
  std::thread thread_;
};

TEST(CallbackThreadsExecutor, Drain_WaitsForTheTasksOfTheExecutor) {
  UserThread user;
  CallbackThreads threads(nullptr, {.executor = user.executor()});
  std::atomic<int> ran = 0;
  for (int i = 0; i < 10; ++i) threads.post([&] { ++ran; });
  EXPECT_FALSE(threads.drain_for(1ms)) << "they have not run";
  EXPECT_EQ(ran, 0);
  user.start();
  EXPECT_TRUE(threads.drain_for(kAmpleTime));
  EXPECT_EQ(ran, 10);
}

TEST(CallbackThreadsExecutor, ManyTasks_PassedInOrderOneAtATime) {
  UserThread user;
  std::atomic<int> calls = 0;
  std::atomic<int> most_calls = 0;
  const auto poster = std::this_thread::get_id();
  CallbackThreads threads(nullptr, {.executor = [&](std::function<void()> task) {
                            EXPECT_NE(std::this_thread::get_id(), poster);
                            most_calls = std::max(most_calls.load(), ++calls);
                            std::this_thread::yield();
                            user.post(std::move(task));
                            --calls;
                          }});
  constexpr int kCount = 1'000;
  std::vector<int> ran;
  for (int i = 0; i < kCount; ++i) threads.post([&ran, i] { ran.push_back(i); });
  user.start();
  EXPECT_TRUE(threads.drain_for(kAmpleTime));
  EXPECT_EQ(ran.size(), std::size_t{kCount});
  EXPECT_TRUE(std::is_sorted(ran.begin(), ran.end()));
  EXPECT_EQ(most_calls, 1);
}

TEST(CallbackThreadsExecutor, ExecutorThrows_ReportedAndTaskRunsOnce) {
  for (const bool runs_it_first : {false, true}) {
    std::atomic<int> reported = 0;
    std::atomic<int> ran = 0;
    CallbackThreads threads([&](const std::exception_ptr&) { ++reported; },
                            {.executor = [&](const std::function<void()>& task) {
                              if (runs_it_first) task();
                              throw std::runtime_error("full");
                            }});
    threads.post([&] { ++ran; });
    EXPECT_TRUE(threads.drain_for(kAmpleTime));
    EXPECT_EQ(reported, 1);
    EXPECT_EQ(ran, 1);
  }
}

TEST(CallbackThreadsExecutor, TaskThrows_ReportedWithoutReachingTheExecutor) {
  std::atomic<int> reported = 0;
  std::atomic<bool> reached = false;
  CallbackThreads threads([&](const std::exception_ptr&) { ++reported; },
                          {.executor = [&](const std::function<void()>& task) {
                            try {
                              task();
                            } catch (...) {
                              reached = true;
                            }
                          }});
  threads.post([] { throw std::runtime_error("x"); });
  EXPECT_TRUE(threads.drain_for(kAmpleTime));
  EXPECT_EQ(reported, 1);
  EXPECT_FALSE(reached);
}

TEST(CallbackThreadsExecutor, TaskDropped_DrainDoesNotWaitForIt) {
  UserThread user;
  CallbackThreads threads(nullptr, {.executor = user.executor()});
  auto owned = std::make_shared<int>();
  threads.post([owned] { ADD_FAILURE(); });
  ASSERT_TRUE(eventually([&] { return user.size() == 1; }));
  user.drop_all();
  EXPECT_TRUE(threads.drain_for(kAmpleTime));
  EXPECT_EQ(owned.use_count(), 1);
}

TEST(CallbackThreadsExecutor, TaskPostsAndDrains_NewTaskRuns) {
  UserThread user;
  CallbackThreads threads(nullptr, {.executor = user.executor()});
  const Fact<bool> drained;
  std::atomic<bool> ran = false;
  threads.post([&, drained] {
    threads.post([&] { ran = true; });
    EXPECT_TRUE(eventually([&] { return user.size() == 1; }));
    user.run_all();
    drained.is(threads.drain_for(kAmpleTime));
  });
  user.start();
  EXPECT_TRUE(drained.get());
  EXPECT_TRUE(ran);
}

TEST(CallbackThreadsExecutor, PoolDestroyed_TaskStillRuns) {
  UserThread user;
  std::atomic<bool> ran = false;
  {
    CallbackThreads threads(nullptr, {.executor = user.executor()});
    threads.post([&] { ran = true; });
    ASSERT_TRUE(eventually([&] { return user.size() == 1; }));
  }
  user.run_all();
  EXPECT_TRUE(ran);
}

void run_out_of_memory_before_a_hand_over() {
  const Fact<> both_are_posted;
  std::optional<testing::ScarceMemory> scarce;  // on the thread that passes tasks to the executor
  CallbackThreads threads(nullptr, {.executor = [](const std::function<void()>& task) { task(); }});
  threads.post([&] {
    both_are_posted.get();
    scarce.emplace(0);
  });
  const Fact<> ran;
  threads.post([ran] { ran.is_known(); });
  both_are_posted.is_known();
  ran.get();
}

TEST(CallbackThreadsExecutor, NoMemoryToReachTheExecutor_ProcessTerminates) {
  EXPECT_DEATH(run_out_of_memory_before_a_hand_over(), "bad_alloc");
}

}  // namespace
}  // namespace zklock::client
