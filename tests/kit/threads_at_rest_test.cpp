// SPDX-License-Identifier: Apache-2.0
#include "zklock/testing/fake/threads_at_rest.h"

#include <atomic>
#include <condition_variable>
#include <mutex>
#include <semaphore>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

#include <gtest/gtest.h>
#include <pthread.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include "support/descriptor_limit.h"
#include "zklock/core/sanitizers.h"
#include "zklock/testing/servers/wait_for.h"

namespace zklock::testing {
namespace {

using detail::ThreadsAtRest;

void wait_for_rest() {
  ThreadsAtRest threads;
  while (!threads.check()) std::this_thread::yield();
}

TEST(ThreadsAtRest, NoOtherThread_IsRest) {
  ThreadsAtRest threads;
  EXPECT_TRUE(eventually([&] { return threads.check(); }));
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

// The directory can be opened, but not the files of the threads.
TEST(ThreadsAtRest, NoDescriptors_Throws) {
#if ZKLOCK_ADDRESS_SANITIZER
  GTEST_SKIP() << "to check the type of an object, the sanitizer opens a pipe";
#endif
  std::binary_semaphore end{0};
  const std::jthread sleeps([&end] { end.acquire(); });
  wait_for_rest();
  const int lowest = ::eventfd(0, EFD_CLOEXEC);
  ASSERT_GE(lowest, 0);
  ::close(lowest);
  ThreadsAtRest threads;
  {
    const DescriptorLimit one(static_cast<rlim_t>(lowest) + 1);
    EXPECT_THROW(static_cast<void>(threads.check()), std::runtime_error);
  }
  EXPECT_TRUE(threads.check());
  end.release();
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
