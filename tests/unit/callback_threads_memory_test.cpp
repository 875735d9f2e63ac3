// SPDX-License-Identifier: Apache-2.0
#include <functional>
#include <optional>

#include <gtest/gtest.h>

#include "fact.h"
#include "support/scarce_memory.h"
#include "zklock/client/threads/callback_threads.h"

namespace zklock::client {
namespace {

using testing::Fact;

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

TEST(CallbackThreadsMemory, NoMemoryToReachTheExecutor_ProcessTerminates) {
  EXPECT_DEATH(run_out_of_memory_before_a_hand_over(), "bad_alloc");
}

}  // namespace
}  // namespace zklock::client
