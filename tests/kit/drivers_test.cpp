// SPDX-License-Identifier: Apache-2.0
// Several threads that settle, let time pass or make calls without end.
#include <atomic>
#include <chrono>
#include <semaphore>
#include <stdexcept>
#include <thread>

#include <gtest/gtest.h>

#include "zklock/testing/fake_ensemble.h"
#include "zklock/zklock.h"

namespace zklock::testing {
namespace {

using namespace std::chrono_literals;

constexpr const char* kLock = "/locks/job";

TEST(Drivers, ThreadPollsTheLock_SettleThrows) {
  FakeEnsemble ensemble({.rest_limit = 50ms});
  const auto client = ensemble.client();
  Mutex mutex(*client, kLock);
  const Hold hold = mutex.acquire();
  Mutex other(*client, kLock);
  std::atomic<int> polls{0};
  std::atomic<bool> stop{false};
  const std::jthread poller([&] {
    while (!stop) {
      static_cast<void>(other.participants());
      ++polls;
    }
  });
  while (polls < 10) std::this_thread::yield();
  EXPECT_THROW(ensemble.settle(), std::runtime_error);
  stop = true;
}

TEST(Drivers, ManyRoundTrips_HaveTheLimitEach) {
  constexpr auto kLimit = 1s;
  FakeEnsemble ensemble({.rest_limit = kLimit});
  const auto client = ensemble.client();
  Mutex mutex(*client, kLock);
  const auto before = ensemble.link(*client).requests();
  std::atomic<std::size_t> round_trips{0};
  std::atomic<bool> go{false};
  const std::jthread worker([&] {
    go.wait(false);
    const auto end = std::chrono::steady_clock::now() + 2 * kLimit;
    for (; std::chrono::steady_clock::now() < end; ++round_trips) {
      static_cast<void>(mutex.participants());
    }
  });
  go = true;
  go.notify_one();
  EXPECT_NO_THROW(ensemble.settle());
  EXPECT_GT(round_trips, 1U);
  EXPECT_GE(ensemble.link(*client).requests(), before + round_trips);
}

TEST(Drivers, ThreadSettlesWithoutPause_OthersHaveTheirTurn) {
  FakeEnsemble ensemble;
  std::binary_semaphore has_begun{0};
  std::atomic<bool> stop{false};
  const std::jthread poller([&] {
    ensemble.settle();
    has_begun.release();
    while (!stop) ensemble.settle();
  });
  has_begun.acquire();
  const auto before = ensemble.now();
  for (int i = 0; i < 100; ++i) ensemble.advance(1s);
  EXPECT_EQ(ensemble.now(), before + 100s);
  stop = true;
}

TEST(Drivers, CallLetsTimePass_DuringReturnsThen) {
  FakeEnsemble ensemble;
  for (int run = 0; run < 100; ++run) {
    const auto before = ensemble.now();
    EXPECT_TRUE(ensemble.during(
        [&ensemble] {
          ensemble.advance(1s);
          return true;
        },
        1min));
    ASSERT_EQ(ensemble.now(), before + 1s) << run;
  }
}

TEST(Drivers, TwoWaitForFacts_TimePassesForBoth) {
  FakeEnsemble ensemble;
  const auto client = ensemble.client();  // its heartbeats are events
  const auto begin = ensemble.now();
  std::atomic<bool> reached{false};
  const std::jthread other(
      [&] { reached = ensemble.advance_until([&] { return ensemble.now() >= begin + 2min; }); });
  EXPECT_TRUE(ensemble.advance_until([&] { return reached.load(); }));
}

TEST(Drivers, NoRestLimit_WaitingForFactsIsRefused) {
  FakeEnsemble ensemble({.rest_limit = 0ms});
  EXPECT_THROW(static_cast<void>(ensemble.advance_until([] { return true; })), std::logic_error);
  bool called = false;
  EXPECT_THROW(static_cast<void>(ensemble.during([&called] { return called = true; })),
               std::logic_error);
  EXPECT_FALSE(called);
}

}  // namespace
}  // namespace zklock::testing
