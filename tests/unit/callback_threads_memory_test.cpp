// SPDX-License-Identifier: Apache-2.0
#include <exception>
#include <functional>
#include <new>
#include <optional>

#include <gtest/gtest.h>

#include "fact.h"
#include "support/scarce_memory.h"
#include "zklock/client/threads/callback_threads.h"

namespace zklock::client {
namespace {

using testing::Fact;

TEST(CallbackThreadsMemory, NoMemoryToReachTheExecutor_TaskRunsInThePool) {
  const Fact<bool> told_of_it;
  const auto tell = [told_of_it](const std::exception_ptr& thrown) {
    try {
      std::rethrow_exception(thrown);
    } catch (const std::bad_alloc&) {
      told_of_it.is(true);
    }
  };
  const Fact<> both_are_posted;
  const Fact<> ran;
  std::optional<testing::ScarceMemory> scarce;  // on the thread that posts the tasks
  CallbackThreads threads(tell, {.executor = [](const std::function<void()>& task) { task(); }});
  threads.post([&] {
    both_are_posted.get();
    scarce.emplace(0);
  });
  threads.post([&] {
    scarce.reset();
    ran.is_known();
  });
  both_are_posted.is_known();
  ran.get();
  EXPECT_TRUE(told_of_it.get());
}

}  // namespace
}  // namespace zklock::client
