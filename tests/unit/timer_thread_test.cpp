// SPDX-License-Identifier: Apache-2.0
#include "zklock/client/threads/timer_thread.h"

#include <algorithm>
#include <atomic>
#include <chrono>
#include <csignal>
#include <memory>
#include <random>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include <gtest/gtest.h>
#include <pthread.h>

#include "fact.h"
#include "thread_facts.h"
#include "zklock/deadline.h"
#include "zklock/testing/servers/wait_for.h"

namespace zklock::client {
namespace {

using namespace std::chrono_literals;
using core::Instant;
using testing::eventually;
using testing::Fact;
using testing::Latch;

constexpr TimerId kNone{0};

TEST(TimerThread, TimeInThePast_RunsAtOnce) {
  TimerThread timers;
  for (const Instant when : {timers.now(), timers.now() - 1h, Instant(), Instant() - 1ns,
                             Instant::min(), Deadline::passed().at()}) {
    const Fact<> ran;
    EXPECT_NE(timers.at(when, [&, ran] { ran.is_known(); }), kNone);
    ran.get();
  }
}

TEST(TimerThread, SetTimer_NeverRunsTheTaskInline) {
  TimerThread timers;
  const Fact<bool> nested;
  timers.at(Instant(), [&timers, nested] {
    auto inside = std::make_shared<bool>(true);
    timers.at(Instant(), [nested, inside] { nested.is(*inside); });
    *inside = false;
  });
  EXPECT_FALSE(nested.get());
}

TEST(TimerThread, ManyTimers_RunInTheOrderOfTheirTimes) {
  for (unsigned seed = 0; seed < 5; ++seed) {
    std::mt19937 random(seed);
    constexpr int kCount = 200;
    std::vector<std::pair<Instant, int>> wanted;
    std::vector<std::pair<Instant, int>> got;
    const Latch all(kCount);
    TimerThread timers;
    // All timers are created before the first is due. Many due times are equal.
    const Instant start = timers.now() + 100ms;
    for (int i = 0; i < kCount; ++i) {
      const Instant when = start + std::chrono::milliseconds(random() % 30);
      wanted.emplace_back(when, i);
      timers.at(when, [&, when, i] {
        EXPECT_GE(timers.now(), when);
        got.emplace_back(when, i);
        all.count_down();
      });
    }
    if (timers.now() >= start) continue;  // the machine is too slow for a result
    all.wait();
    std::sort(wanted.begin(), wanted.end());
    EXPECT_EQ(got, wanted) << "seed " << seed;
  }
}

TEST(TimerThread, CancelUnknownTimer_HasNoEffect) {
  TimerThread timers;
  auto owned = std::make_shared<int>();
  timers.at(timers.now() + 1h, [owned] {});
  timers.cancel(kNone);
  timers.cancel(TimerId(12345));
  const Fact<> ran;
  const TimerId timer = timers.at(Instant(), [&, ran] { ran.is_known(); });
  ran.get();
  timers.cancel(timer);
  timers.cancel(timer);
  EXPECT_EQ(owned.use_count(), 2) << "another timer was cancelled";
}

TEST(TimerThread, TaskCancelsItselfAndAnother_OtherDoesNotRun) {
  std::atomic<bool> victim_ran = false;
  TimerId self = kNone;
  TimerId victim = kNone;
  const Fact<> done;
  const Fact<> ids_known;
  TimerThread timers;
  const Instant due = timers.now() + 30ms;
  self = timers.at(due, [&] {
    ids_known.get();
    timers.cancel(self);
    timers.cancel(victim);
  });
  victim = timers.at(due + 1ns, [&] { victim_ran = true; });
  timers.at(due + 2ns, [&, done] { done.is_known(); });
  ids_known.is_known();
  done.get();
  EXPECT_FALSE(victim_ran);
}

TEST(TimerThread, TaskDestroyed_NoLockIsHeld) {
  struct Calls {
    Calls(TimerThread& t, TimerId o) : timers(t), other(o) {}
    TimerThread& timers;
    TimerId other;
    ~Calls() { timers.cancel(other); }
  };
  TimerThread timers;
  auto owned = std::make_shared<int>();
  const TimerId first = timers.at(timers.now() + 1h, [owned] {});
  const TimerId timer =
      timers.at(timers.now() + 1h, [c = std::make_shared<Calls>(timers, first)] {});
  timers.cancel(timer);
  EXPECT_EQ(owned.use_count(), 1);
  const TimerId second = timers.at(timers.now() + 1h, [owned] {});
  timers.at(Instant(), [c = std::make_shared<Calls>(timers, second)] {});
  EXPECT_TRUE(eventually([&] { return owned.use_count() == 1; }));
}

TEST(TimerThread, TimeNever_IsNotStored) {
  TimerThread timers;
  auto owned = std::make_shared<int>();
  EXPECT_EQ(timers.at(Instant::max(), [owned] {}), kNone);
  EXPECT_EQ(timers.at(Instant(Instant::max().time_since_epoch() / 2) + 1ns, [owned] {}), kNone);
  EXPECT_EQ(owned.use_count(), 1);
  EXPECT_NE(timers.at(Instant(Instant::max().time_since_epoch() / 2), [owned] {}), kNone);
  const Fact<> ran;
  timers.at(Instant(), [&, ran] { ran.is_known(); });
  ran.get();
  EXPECT_EQ(owned.use_count(), 2);
}

TEST(TimerThread, CancelledTimerRang_ThreadSleeps) {
  TimerThread timers;
  const Fact<pid_t> thread;
  timers.at(Instant(), [&, thread] { thread.is(::gettid()); });
  const pid_t tid = thread.get();
  const Instant due = timers.now() + 10ms;
  timers.cancel(timers.at(due, [] {}));
  ASSERT_TRUE(eventually([&] { return timers.now() > due + 20ms; }));
  EXPECT_TRUE(eventually([&] { return testing::thread_state(tid) == 'S'; })) << "it spins";
}

TEST(TimerThread, EqualTimes_RunInOrderOnTheirOwnThread) {
  std::vector<int> ran;
  TimerThread timers("timer-test");
  for (int i = 0; i < 100; ++i) timers.at({}, [&ran, i] { ran.push_back(i); });
  const Fact<std::string> name;
  timers.at({}, [name] {
    char text[16] = {};
    ::pthread_getname_np(::pthread_self(), text, sizeof text);
    name.is(text);
  });
  EXPECT_EQ(name.get(), "timer-test");
  ASSERT_EQ(ran.size(), 100U);
  EXPECT_TRUE(std::is_sorted(ran.begin(), ran.end()));
}

TEST(TimerThread, WaitIdle_TasksThatAreDueHaveRun) {
  std::atomic<int> ran{0};
  TimerThread timers;
  timers.at(timers.now() + 1h, [] { ADD_FAILURE() << "it is not due"; });
  for (int round = 1; round <= 100; ++round) {
    timers.at({}, [&] {
      timers.at({}, [&ran] {
        std::this_thread::yield();
        ++ran;
      });
    });
    timers.wait_idle();
    ASSERT_EQ(ran, round) << "it did not wait for the task that a task added";
  }
}

// A late task can be the last user of the owner.
TEST(TimerThread, TaskWaitsForIdle_RunsTheOtherTasks) {
  auto timers = std::make_shared<TimerThread>();
  const auto ran = std::make_shared<std::atomic<int>>(0);
  const Fact<> all_added;
  const Fact<int> ran_within;
  timers->at({}, [timers, ran, all_added, ran_within]() mutable {
    all_added.get();
    timers->wait_idle();
    timers = nullptr;
    ran_within.is(*ran);
  });
  timers->at({}, [last = timers.get(), ran] {
    last->at({}, [ran] { ++*ran; });
    ++*ran;
  });
  timers = nullptr;
  all_added.is_known();
  EXPECT_EQ(ran_within.get(), 2);
}

TEST(TimerThread, Stop_DropsQueuedAndWaitsForRunning) {
  const Fact<> begun;
  const Fact<> go;
  std::atomic<bool> ended = false;
  TimerThread timers;
  auto owned = std::make_shared<int>();
  timers.at(timers.now() + 1h, [owned] {});
  timers.at(Instant(), [&] {
    begun.is_known();
    go.get();
    ended = true;
  });
  begun.get();
  std::thread releaser([&, go] { go.is_known(); });
  timers.stop();
  EXPECT_TRUE(ended);
  EXPECT_EQ(owned.use_count(), 1);
  releaser.join();
  EXPECT_EQ(timers.at(Instant(), [owned] {}), kNone);
  EXPECT_EQ(owned.use_count(), 1);
  timers.stop();
}

TEST(TimerThread, DestroyedByATask_ThreadEnds) {
  auto timers = std::make_unique<TimerThread>();
  const Fact<> destroyed;
  const Fact<pid_t> thread;
  const Latch assigned(1);
  timers->at(Instant(), [&timers, destroyed, thread, assigned] {
    assigned.wait();
    thread.is(::gettid());
    timers.reset();
    destroyed.is_known();
  });
  timers->at(Instant() + 1ns, [] { ADD_FAILURE() << "runs after the stop"; });
  assigned.count_down();
  const pid_t tid = thread.get();
  destroyed.get();
  EXPECT_TRUE(eventually([&] { return testing::thread_state(tid) == '\0'; }));
}

TEST(TimerThread, SignalMask_BlocksProgramSignals) {
  TimerThread timers;
  const Fact<sigset_t> mask;
  timers.at(Instant(), [mask] {
    sigset_t blocked;
    ::pthread_sigmask(SIG_BLOCK, nullptr, &blocked);
    mask.is(blocked);
  });
  const sigset_t blocked = mask.get();
  for (const int s : {SIGTERM, SIGINT, SIGUSR1, SIGCHLD, SIGPIPE, SIGALRM}) {
    EXPECT_EQ(sigismember(&blocked, s), 1) << s;
  }
  EXPECT_EQ(sigismember(&blocked, SIGSEGV), 0) << "a crash is to be reported";
  sigset_t own;
  ::pthread_sigmask(SIG_BLOCK, nullptr, &own);
  EXPECT_EQ(sigismember(&own, SIGTERM), 0) << "the caller's mask is as it was";
}

TEST(TimerThread, UsedFromManyThreads_RunsAllTimers) {
  constexpr int kThreads = 4;
  constexpr int kRounds = 500;
  std::atomic<int> ran = 0;
  std::atomic<int> kept = 0;
  TimerThread timers;
  std::vector<std::thread> users;
  for (int t = 0; t < kThreads; ++t) {
    users.emplace_back([&, t] {
      std::mt19937 random(static_cast<unsigned>(t));
      for (int i = 0; i < kRounds; ++i) {
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
