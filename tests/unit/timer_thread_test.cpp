// SPDX-License-Identifier: Apache-2.0
#include "zklock/client/timer_thread.h"

#include <algorithm>
#include <atomic>
#include <chrono>
#include <csignal>
#include <future>
#include <latch>
#include <memory>
#include <mutex>
#include <random>
#include <thread>
#include <utility>
#include <vector>

#include <gtest/gtest.h>
#include <pthread.h>

#include "support/wait_for.h"
#include "thread_facts.h"
#include "zklock/deadline.h"

namespace zklock::client {
namespace {

using namespace std::chrono_literals;
using core::Instant;
using testing::eventually;

constexpr TimerId none{0};

TEST(TimerThread, RunsATaskWhenItIsDueAndNotBefore) {
  TimerThread timers;
  std::promise<Instant> ran;
  const Instant due = timers.now() + 20ms;
  EXPECT_NE(timers.at(due, [&] { ran.set_value(timers.now()); }), none);
  EXPECT_GE(ran.get_future().get(), due);
}

TEST(TimerThread, WhatIsPastIsDueAtOnce) {
  TimerThread timers;
  for (const Instant when : {timers.now(), timers.now() - 1h, Instant(), Instant() - 1ns,
                             Instant::min(), Deadline::passed().at()}) {
    std::promise<void> ran;
    timers.at(when, [&] { ran.set_value(); });
    ran.get_future().get();
  }
}

TEST(TimerThread, NeverRunsATaskWithinAt) {
  TimerThread timers;
  std::promise<std::thread::id> ran_on;
  timers.at(Instant(), [&] { ran_on.set_value(std::this_thread::get_id()); });
  EXPECT_NE(ran_on.get_future().get(), std::this_thread::get_id());

  std::promise<bool> nested;
  timers.at(Instant(), [&] {
    auto inside = std::make_shared<bool>(true);
    timers.at(Instant(), [&nested, inside] { nested.set_value(*inside); });
    *inside = false;
  });
  EXPECT_FALSE(nested.get_future().get());
}

TEST(TimerThread, RunsTasksInTheOrderOfTheirTimes) {
  for (unsigned seed = 0; seed < 5; ++seed) {
    std::mt19937 random(seed);
    constexpr int count = 200;
    std::vector<std::pair<Instant, int>> wanted;
    std::vector<std::pair<Instant, int>> got;
    std::latch all(count);
    TimerThread timers;
    // All made before the first is due; many times are equal.
    const Instant start = timers.now() + 100ms;
    for (int i = 0; i < count; ++i) {
      const Instant when = start + std::chrono::milliseconds(random() % 30);
      wanted.emplace_back(when, i);
      timers.at(when, [&, when, i] {
        EXPECT_GE(timers.now(), when);
        got.emplace_back(when, i);
        all.count_down();
      });
    }
    if (timers.now() >= start) continue;  // too slow a machine to say anything
    all.wait();
    std::sort(wanted.begin(), wanted.end());
    EXPECT_EQ(got, wanted) << "seed " << seed;
  }
}

TEST(TimerThread, AnEarlierTimerIsNotHeldUpByALaterOne) {
  TimerThread timers;
  std::atomic<bool> late_ran = false;
  timers.at(timers.now() + 1h, [&] { late_ran = true; });
  std::promise<void> asleep;
  timers.at(Instant(), [&] { asleep.set_value(); });
  asleep.get_future().get();
  std::promise<void> ran;
  timers.at(timers.now() + 5ms, [&] { ran.set_value(); });
  ran.get_future().get();
  EXPECT_FALSE(late_ran);
}

TEST(TimerThread, ACancelledTaskDoesNotRunAndIsDestroyed) {
  TimerThread timers;
  std::atomic<bool> ran = false;
  auto owned = std::make_shared<int>();
  const Instant due = timers.now() + 10ms;
  const TimerId timer = timers.at(due, [&ran, owned] { ran = true; });
  timers.cancel(timer);
  EXPECT_EQ(owned.use_count(), 1);
  std::promise<void> later;
  timers.at(due + 1ms, [&] { later.set_value(); });
  later.get_future().get();
  EXPECT_FALSE(ran);
}

TEST(TimerThread, CancellingWhatIsNotThereDoesNothing) {
  TimerThread timers;
  timers.cancel(none);
  timers.cancel(TimerId(12345));
  std::promise<void> ran;
  const TimerId timer = timers.at(Instant(), [&] { ran.set_value(); });
  ran.get_future().get();
  timers.cancel(timer);
  timers.cancel(timer);
}

TEST(TimerThread, ATaskMayCancelAnotherOrItself) {
  TimerThread timers;
  std::atomic<bool> victim_ran = false;
  std::promise<void> done;
  const Instant due = timers.now() + 30ms;
  TimerId self = none;
  TimerId victim = none;
  std::promise<void> ids_known;
  const auto known = ids_known.get_future().share();
  self = timers.at(due, [&] {
    known.get();
    timers.cancel(self);
    timers.cancel(victim);
  });
  victim = timers.at(due + 1ns, [&] { victim_ran = true; });
  timers.at(due + 2ns, [&] { done.set_value(); });
  ids_known.set_value();
  done.get_future().get();
  EXPECT_FALSE(victim_ran);
}

TEST(TimerThread, ATaskIsDestroyedWithNoLockHeld) {
  struct Calls {
    TimerThread& timers;
    TimerId other;
    ~Calls() { timers.cancel(other); }
  };
  TimerThread timers;
  const TimerId other = timers.at(timers.now() + 1h, [] {});
  const TimerId timer =
      timers.at(timers.now() + 1h, [c = std::make_shared<Calls>(timers, other)] {});
  timers.cancel(timer);
  std::promise<void> ran;
  timers.at(Instant(), [c = std::make_shared<Calls>(timers, other), &ran] { ran.set_value(); });
  ran.get_future().get();
}

TEST(TimerThread, NeverCostsNoThread) {
  const auto descriptors = testing::open_file_descriptors();
  TimerThread timers;
  auto owned = std::make_shared<int>();
  EXPECT_EQ(timers.at(Instant::max(), [owned] {}), none);
  EXPECT_EQ(timers.at(Instant(Instant::max().time_since_epoch() / 2) + 1ns, [owned] {}), none);
  EXPECT_EQ(owned.use_count(), 1);
  EXPECT_EQ(testing::open_file_descriptors(), descriptors) << "started before it was needed";
  EXPECT_NE(timers.at(Instant(Instant::max().time_since_epoch() / 2), [owned] {}), none);
  std::promise<void> ran;
  timers.at(Instant(), [&] { ran.set_value(); });
  ran.get_future().get();
  EXPECT_EQ(owned.use_count(), 2);
}

TEST(TimerThread, SleepsAfterACancelledTimerRang) {
  TimerThread timers;
  std::promise<pid_t> thread;
  timers.at(Instant(), [&] { thread.set_value(::gettid()); });
  const pid_t tid = thread.get_future().get();
  const Instant due = timers.now() + 10ms;
  timers.cancel(timers.at(due, [] {}));
  ASSERT_TRUE(eventually([&] { return timers.now() > due + 20ms; }));
  EXPECT_TRUE(eventually([&] { return testing::thread_state(tid) == 'S'; })) << "it spins";
}

TEST(TimerThread, StopDropsWhatIsLeftAndWaitsForWhatRuns) {
  TimerThread timers;
  auto owned = std::make_shared<int>();
  timers.at(timers.now() + 1h, [owned] {});
  std::promise<void> begun;
  std::promise<void> go;
  std::atomic<bool> ended = false;
  timers.at(Instant(), [&] {
    begun.set_value();
    go.get_future().get();
    ended = true;
  });
  begun.get_future().get();
  std::thread releaser([&] { go.set_value(); });
  timers.stop();
  EXPECT_TRUE(ended);
  EXPECT_EQ(owned.use_count(), 1);
  releaser.join();
  EXPECT_EQ(timers.at(Instant(), [owned] {}), none);
  EXPECT_EQ(owned.use_count(), 1);
  timers.stop();
}

TEST(TimerThread, StopWakesASleepingThread) {
  TimerThread timers;
  timers.at(timers.now() + 1h, [] {});
  timers.stop();
}

TEST(TimerThread, StopFromATaskDoesNotWait) {
  TimerThread timers;
  std::promise<void> stopped;
  std::atomic<bool> another_ran = false;
  std::latch both_there(2);
  timers.at(Instant(), [&] {
    both_there.arrive_and_wait();
    timers.stop();
    stopped.set_value();
  });
  timers.at(Instant() + 1ns, [&] { another_ran = true; });
  both_there.arrive_and_wait();
  stopped.get_future().get();
  timers.stop();
  EXPECT_FALSE(another_ran);
}

TEST(TimerThread, MayBeDestroyedByATask) {
  auto timers = std::make_unique<TimerThread>();
  std::promise<void> destroyed;
  std::promise<pid_t> thread;
  std::latch assigned(1);
  timers->at(Instant(), [&] {
    assigned.wait();
    thread.set_value(::gettid());
    timers.reset();
    destroyed.set_value();
  });
  assigned.count_down();
  const pid_t tid = thread.get_future().get();
  destroyed.get_future().get();
  EXPECT_TRUE(eventually([&] { return testing::thread_state(tid) == '\0'; }));
}

TEST(TimerThread, LeavesNoThreadAndNoDescriptor) {
  const auto before = testing::open_file_descriptors();
  pid_t tid = 0;
  {
    TimerThread timers;
    std::promise<pid_t> thread;
    timers.at(Instant(), [&] { thread.set_value(::gettid()); });
    tid = thread.get_future().get();
    EXPECT_GT(testing::open_file_descriptors(), before);
  }
  EXPECT_EQ(testing::open_file_descriptors(), before);
  EXPECT_TRUE(eventually([&] { return testing::thread_state(tid) == '\0'; }));
}

TEST(TimerThread, TakesNoSignalsFromTheProgram) {
  TimerThread timers;
  std::promise<sigset_t> mask;
  timers.at(Instant(), [&] {
    sigset_t blocked;
    ::pthread_sigmask(SIG_BLOCK, nullptr, &blocked);
    mask.set_value(blocked);
  });
  const sigset_t blocked = mask.get_future().get();
  for (const int s : {SIGTERM, SIGINT, SIGUSR1, SIGCHLD, SIGPIPE, SIGALRM}) {
    EXPECT_EQ(sigismember(&blocked, s), 1) << s;
  }
  EXPECT_EQ(sigismember(&blocked, SIGSEGV), 0) << "a crash is to be reported";
  sigset_t own;
  ::pthread_sigmask(SIG_BLOCK, nullptr, &own);
  EXPECT_EQ(sigismember(&own, SIGTERM), 0) << "the caller's mask is as it was";
}

TEST(TimerThread, ManyThreadsMayUseIt) {
  TimerThread timers;
  constexpr int threads = 4;
  constexpr int rounds = 500;
  std::atomic<int> ran = 0;
  std::atomic<int> kept = 0;
  std::vector<std::thread> users;
  for (int t = 0; t < threads; ++t) {
    users.emplace_back([&, t] {
      std::mt19937 random(static_cast<unsigned>(t));
      for (int i = 0; i < rounds; ++i) {
        const auto when = timers.now() + std::chrono::microseconds(random() % 3000);
        if (random() % 2 == 0) {
          timers.at(when, [&] { ++ran; });
          ++kept;
        } else {
          timers.cancel(timers.at(when + 1h, [&] { ADD_FAILURE() << "was cancelled"; }));
        }
      }
    });
  }
  for (auto& user : users) user.join();
  EXPECT_TRUE(eventually([&] { return ran == kept; }));
}

}  // namespace
}  // namespace zklock::client
