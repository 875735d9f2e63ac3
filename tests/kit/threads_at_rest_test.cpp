// SPDX-License-Identifier: Apache-2.0
#include "zklock/testing/fake/threads_at_rest.h"

#include <array>
#include <atomic>
#include <condition_variable>
#include <cstdlib>
#include <mutex>
#include <semaphore>
#include <stdexcept>
#include <string>
#include <string_view>
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

/// Returns the descriptor of the thread's file that the next look opens. The one before it is that
/// of the directory.
int descriptor_of_look() {
  const int directory = ::eventfd(0, EFD_CLOEXEC);
  const int file = ::eventfd(0, EFD_CLOEXEC);
  ::close(file);
  ::close(directory);
  return file;
}

/// Returns the thread to which the open file /proc/.../task/ID/... belongs; 0: it is not open.
pid_t thread_of(int descriptor) {
  constexpr std::string_view kTask = "/task/";
  std::array<char, 100> path{};
  const std::string link = "/proc/self/fd/" + std::to_string(descriptor);
  if (::readlink(link.c_str(), path.data(), path.size() - 1) < 0) return 0;
  const auto task = std::string_view(path.data()).find(kTask);
  if (task == std::string_view::npos) return 0;
  return static_cast<pid_t>(std::strtol(path.data() + task + kTask.size(), nullptr, 10));
}

// A look reads the threads in the order of their start. When it has read the first one, the last
// one wakes the first one and sleeps. So the look finds each thread asleep, and only the next look
// finds the first one awake. The threads between the two make the look long. In a round in which
// the last thread gets no processor in time, the first look finds that thread awake. Then another
// round follows.
TEST(ThreadsAtRest, WakePassesTheLook_IsNoRest) {
  constexpr int kBetween = 300;
  constexpr int kMostRounds = 10'000;
  std::counting_semaphore<> wake_first(0);
  std::counting_semaphore<> wake_last(0);
  std::counting_semaphore<> end_between(0);
  std::atomic<pid_t> first{0};
  std::atomic<bool> looks{false};
  std::atomic<bool> ends{false};
  const int file = descriptor_of_look();
  std::vector<std::jthread> threads;
  threads.emplace_back([&] {
    first = ::gettid();
    for (wake_first.acquire(); !ends; wake_first.acquire()) {
      while (looks) {
      }
    }
  });
  for (int i = 0; i < kBetween; ++i) threads.emplace_back([&] { end_between.acquire(); });
  threads.emplace_back([&] {
    for (wake_last.acquire(); !ends; wake_last.acquire()) {
      for (pid_t read = 0; looks && (read == 0 || read == first);) read = thread_of(file);
      wake_first.release();
    }
  });
  bool rested = false;
  bool passed = false;
  for (int i = 0; i < kMostRounds && !rested && !passed; ++i) {
    wait_for_rest();
    ThreadsAtRest at_rest;
    looks = true;
    wake_last.release();
    rested = at_rest.check();  // the first or the last thread runs
    passed = at_rest.awake().ends_with("(id " + std::to_string(first) + ")");
    looks = false;
  }
  ends = true;
  wake_first.release();
  wake_last.release();
  end_between.release(kBetween);
  threads.clear();
  EXPECT_FALSE(rested);
  EXPECT_TRUE(rested || passed) << "no wake has passed a look";
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
