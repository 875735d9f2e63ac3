// SPDX-License-Identifier: Apache-2.0
#include "zklock/testing/fake/threads_at_rest.h"

#include <atomic>
#include <condition_variable>
#include <mutex>
#include <semaphore>
#include <string>
#include <thread>
#include <vector>

#include <gtest/gtest.h>
#include <pthread.h>

namespace zklock::testing {
namespace {

using detail::ThreadsAtRest;

void wait_for_rest() {
  ThreadsAtRest threads;
  while (!threads.check()) std::this_thread::yield();
}

TEST(ThreadsAtRest, NoOtherThread_IsRest) {
  wait_for_rest();
}

// Each thread wakes the one that was started before it. A look reads the threads in the order of
// their start, so it can find each of them asleep while the wake passes it.
TEST(ThreadsAtRest, ChainOfWakes_IsAwaited) {
  constexpr std::size_t kThreads = 6;
  constexpr int kRounds = 1'000;
  std::vector<std::counting_semaphore<>*> go;
  for (std::size_t t = 0; t <= kThreads; ++t) go.push_back(new std::counting_semaphore<>(0));
  std::atomic<int> ended{0};
  std::vector<std::jthread> threads;
  for (std::size_t t = 0; t < kThreads; ++t) {
    threads.emplace_back([&, t] {
      for (int i = 0; i < kRounds; ++i) {
        go[t + 1]->acquire();
        if (t == 0) ++ended;
        go[t]->release();
      }
    });
  }
  int missed = 0;
  for (int i = 0; i < kRounds; ++i) {
    go[kThreads]->release();
    wait_for_rest();
    if (ended != i + 1) ++missed;
  }
  threads.clear();
  for (auto* each : go) delete each;
  EXPECT_EQ(missed, 0);
}

TEST(ThreadsAtRest, ThreadThatSpins_IsNamed) {
  std::atomic<bool> stop{false};
  std::jthread spins([&] {
    ::pthread_setname_np(::pthread_self(), "spinner");
    while (!stop) {
    }
  });
  ThreadsAtRest threads;
  bool rested = false;
  std::string awake;
  for (int i = 0; i < 1'000 && awake.find("spinner") == std::string::npos; ++i) {
    rested = rested || threads.check();
    awake = threads.awake();
  }
  stop = true;
  EXPECT_NE(awake.find("\"spinner\""), std::string::npos) << awake;
  EXPECT_FALSE(rested);
}

}  // namespace
}  // namespace zklock::testing
