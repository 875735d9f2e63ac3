// SPDX-License-Identifier: Apache-2.0
// The tasks that code under the mutex of a path puts off.
#include <gtest/gtest.h>

#include "tests/model/lock_world.h"

namespace zklock::model {
namespace {

using detail::Monitor;

// The running task is an element of the vector to which it would add another one.
TEST(MonitorTest, DeferInDeferredTask_EndsTheProcess) {
  LockWorld lock{1};
  const auto path_lock = lock.path_lock(0);
  Monitor& monitor = path_lock->monitor();
  const auto defer_in_task = [&] {
    const Monitor::Lock guard(monitor);
    monitor.defer([&]() ZKLOCK_REQUIRES(detail::path_mutex) { monitor.defer([] {}); });
    monitor.flush_deferred();
  };
  EXPECT_DEATH(defer_in_task(), "is_flushing_");
}

}  // namespace
}  // namespace zklock::model
