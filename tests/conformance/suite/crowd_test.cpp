// SPDX-License-Identifier: Apache-2.0
// Many threads of two clients contend for one lock of each class.
#include <atomic>
#include <future>
#include <thread>
#include <vector>

#include <gtest/gtest.h>

#include "conformance/suite/suite.h"

namespace zklock::testing {
namespace {

class Crowd : public SuiteTest {};
INSTANTIATE_TEST_SUITE_P(, Crowd,
                         ::testing::ValuesIn(every_class_on({EnvironmentKind::servers,
                                                             EnvironmentKind::racing_simulation})),
                         pairing_name);

// Each rival increments two numbers under the lock; each reader must find them equal.
TEST_P(Crowd, HundredThreads_ExcludeEachOther) {
  constexpr int kThreads = 100;
  constexpr int kRounds = 2;
  const auto lock = make(connect());
  const auto others = make(connect());
  // Updated in two steps, so that overlapping holds lose an update.
  std::atomic<int> one{0};
  std::atomic<int> two{0};
  std::atomic<int> torn{0};
  const auto add = [](std::atomic<int>& number) {
    const int before = number;
    std::this_thread::yield();
    number = before + 1;
  };
  std::vector<std::future<void>> threads;
  for (int i = 0; i < kThreads; ++i) {
    threads.push_back(in_thread([&, i] {
      auto& mine = i % 2 == 0 ? *lock : *others;
      for (int round = 0; round < kRounds; ++round) {
        {
          const auto hold = rival_acquire(mine);
          add(one);
          add(two);
        }
        const auto hold = acquire(mine);
        if (one != two) ++torn;
      }
    }));
  }
  for (auto& thread : threads) get(thread);
  EXPECT_EQ(one, kThreads * kRounds);
  EXPECT_EQ(two, kThreads * kRounds);
  EXPECT_EQ(torn, 0);
}

}  // namespace
}  // namespace zklock::testing
