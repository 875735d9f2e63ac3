// SPDX-License-Identifier: Apache-2.0
#include "zklock/client/threads/callback_threads.h"

#include <atomic>
#include <chrono>
#include <functional>
#include <memory>
#include <stdexcept>
#include <thread>
#include <vector>

#include <gtest/gtest.h>
#include <sched.h>
#include <unistd.h>

#include "fact.h"
#include "support/no_threads.h"
#include "thread_facts.h"
#include "zklock/client/threads/start_thread.h"
#include "zklock/client/threads/timer_thread.h"
#include "zklock/testing/servers/wait_for.h"

namespace zklock::client {
namespace {

using namespace std::chrono_literals;
using testing::eventually;
using testing::Fact;
using testing::Latch;

// A limit that no passing test reaches.
constexpr auto kAmple = std::chrono::minutes(1);

TEST(CallbackThreads, NewThread_HasTheSchedulingOfTheCreator) {
  CallbackThreads threads(nullptr);
  const int own = ::sched_getscheduler(0);
  const Fact<int> inherited;
  const Fact<int> found;
  std::thread([&] {
    use_batch_scheduling();
    std::thread([inherited] { inherited.is(::sched_getscheduler(0)); }).join();
    threads.post([found] { found.is(::sched_getscheduler(0)); });
  }).join();
  EXPECT_EQ(inherited.get(), own == SCHED_OTHER ? SCHED_BATCH : own);
  EXPECT_EQ(found.get(), own);
}

TEST(CallbackThreads, ThreadsAwakeOrAsleep_EveryTaskRuns) {
  constexpr std::ptrdiff_t kCount = 2'000;
  CallbackThreads threads(nullptr, {.max_threads = 2});
  const Latch all(2 * kCount);
  const auto post = [&] {
    for (int i = 0; i < kCount; ++i) EXPECT_TRUE(threads.post([all] { all.count_down(); }));
  };
  std::jthread other(post);
  post();
  all.wait();
  // Each task is posted after the end of the previous one. The thread is awake or asleep then.
  for (int i = 0; i < kCount / 10; ++i) {
    const Fact<> ran;
    threads.post([ran] { ran.is_known(); });
    ran.get();
  }
  EXPECT_LE(threads.thread_count(), 2U);
}

TEST(CallbackThreads, TwoTasksForOneIdleThread_BothRun) {
  for (int round = 0; round < 10; ++round) {
    std::atomic<int> begun = 0;
    const Fact<> end;
    const Fact<pid_t> ran_on;
    CallbackThreads threads(nullptr, {.max_threads = 2, .idle_time = kAmple});
    threads.post([ran_on] { ran_on.is(::gettid()); });
    const pid_t tid = ran_on.get();
    ASSERT_TRUE(eventually([&] { return testing::thread_state(tid) == 'S'; }));
    // In most rounds, the second task is posted before the idle thread wakes for the first.
    for (int i = 0; i < 2; ++i) {
      threads.post([&begun, end] {
        ++begun;
        end.get();
      });
    }
    const bool both = eventually([&] { return begun == 2; });
    end.is_known();
    EXPECT_TRUE(threads.drain_for(kAmple));
    ASSERT_TRUE(both) << "a task waited for a busy thread";
  }
}

TEST(CallbackThreads, MaximumReached_TasksQueueInOrder) {
  const Fact<> go;
  std::vector<int> ran;  // unguarded: one thread
  CallbackThreads threads(nullptr, {.max_threads = 1});
  threads.post([&, go] { go.get(); });
  for (int i = 0; i < 100; ++i) threads.post([&, i] { ran.push_back(i); });
  EXPECT_EQ(threads.thread_count(), 1U);
  go.is_known();
  EXPECT_TRUE(threads.drain_for(kAmple));
  ASSERT_EQ(ran.size(), 100U);
  for (int i = 0; i < 100; ++i) EXPECT_EQ(ran[static_cast<std::size_t>(i)], i);
}

// Only one idle thread is woken at a time. A task that blocks must not stop the next wake.
TEST(CallbackThreads, IdleThreads_AllBeginBlockingTasks) {
  CallbackThreads threads(nullptr, {.max_threads = 3, .idle_time = 1h});
  for (int burst = 0; burst < 3; ++burst) {
    const Fact<> may_end;
    for (int i = 0; i < 3; ++i) threads.post([may_end] { may_end.get(); });
    EXPECT_TRUE(eventually([&] { return threads.backlog().running == 3; }));
    may_end.is_known();
    EXPECT_TRUE(eventually([&] { return threads.backlog().running == 0; }));
  }
  EXPECT_EQ(threads.thread_count(), 3U);
}

TEST(CallbackThreads, KeptThread_StaysAfterABurst) {
  CallbackThreads threads(nullptr, {.max_threads = 4, .keeps_one = true, .idle_time = 1ms});
  EXPECT_EQ(threads.thread_count(), 1U);
  const Latch all(4);
  for (int i = 0; i < 4; ++i) threads.post([all] { all.arrive_and_wait(); });
  all.wait();
  EXPECT_TRUE(eventually([&] { return threads.thread_count() == 1; }));
  const testing::NoThreads none;
  const Fact<> ran;
  threads.post([ran] { ran.is_known(); });
  ran.get();
}

TEST(CallbackThreads, NoThreadForAMoment_QueuedTaskBeginsSoon) {
  const auto timers = std::make_shared<TimerThread>();
  CallbackThreads threads(nullptr, {.keeps_one = true,
                                    .idle_time = 1ms,
                                    .scheduler = timers,
                                    .on_backlog = [](const Backlog&) {}});
  const Fact<> begun;
  const Fact<> may_end;
  threads.post([begun, may_end] {
    begun.is_known();
    may_end.get();
  });
  begun.get();
  const Fact<> ran;
  {
    const testing::NoThreads none;
    EXPECT_TRUE(threads.post([ran] { ran.is_known(); }));
  }
  ran.get();
  may_end.is_known();
  EXPECT_TRUE(threads.drain_for(kAmple));
}

TEST(CallbackThreads, Drain_RunsQueuedTasksAndEndsThreads) {
  CallbackThreads threads(nullptr, {.max_threads = 2, .idle_time = kAmple});
  std::atomic<int> ran = 0;
  auto owned = std::make_shared<int>();
  for (int i = 0; i < 100; ++i) {
    threads.post([&ran, owned] {
      ++ran;
      throw std::runtime_error("for no listener");
    });
  }
  EXPECT_TRUE(threads.drain_for(core::Duration::max()));
  EXPECT_EQ(ran, 100);
  EXPECT_EQ(threads.thread_count(), 0U);
  EXPECT_EQ(owned.use_count(), 1) << "the objects of the tasks are destroyed";
}

TEST(CallbackThreads, PostAfterDrain_IsRefused) {
  CallbackThreads threads(nullptr);
  EXPECT_TRUE(threads.drain_for(0s));
  auto owned = std::make_shared<int>();
  EXPECT_FALSE(threads.post([owned] { ADD_FAILURE(); }));
  EXPECT_EQ(owned.use_count(), 1);
  EXPECT_EQ(threads.thread_count(), 0U);
  EXPECT_TRUE(threads.drain_for(kAmple));
}

TEST(CallbackThreads, TaskPostsDuringDrain_NewTaskRuns) {
  CallbackThreads threads(nullptr, {.max_threads = 1});
  const Fact<> go;
  std::atomic<int> ran = 0;
  std::function<void()> chain = [&] {
    if (++ran < 10) threads.post(chain);
  };
  threads.post([&] {
    go.get();
    threads.post(chain);
  });
  EXPECT_FALSE(threads.drain_for(0s));
  go.is_known();
  EXPECT_TRUE(threads.drain_for(kAmple));
  EXPECT_EQ(ran, 10);
}

TEST(CallbackThreads, DrainTimeout_QueuedAndBlockedTasksStillRun) {
  const Fact<> go;
  const Fact<pid_t> thread;
  auto ran = std::make_shared<std::atomic<int>>(0);
  const Fact<> last;
  {
    CallbackThreads threads([ran](const std::exception_ptr&) { ++*ran; }, {.max_threads = 1});
    threads.post([go, thread, ran] {
      thread.is(::gettid());
      go.get();
      ++*ran;
      throw std::runtime_error("for the listener, which is still there");
    });
    threads.post([ran] { ++*ran; });
    threads.post([last] { last.is_known(); });
    EXPECT_FALSE(threads.drain_for(1ms));
  }
  go.is_known();
  last.get();
  EXPECT_EQ(*ran, 3) << "what was queued runs";
  const pid_t tid = thread.get();
  EXPECT_TRUE(eventually([&] { return testing::thread_state(tid) == '\0'; }));
}

TEST(CallbackThreads, DrainFromTwoTasks_DoesNotDeadlock) {
  const Latch both(2);
  const Fact<bool> first;
  const Fact<bool> second;
  const auto pool = std::make_shared<CallbackThreads>(nullptr);
  for (const auto& result : {first, second}) {
    pool->post([pool, both, result] {
      both.arrive_and_wait();
      result.is(pool->drain_for(kAmple));
    });
  }
  // The second caller finds the queue drained or waits for the first. Both calls return true.
  EXPECT_TRUE(first.get());
  EXPECT_TRUE(second.get());
}

}  // namespace
}  // namespace zklock::client
