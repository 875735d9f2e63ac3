// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <cstddef>

#include <gtest/gtest.h>

#include "tests/model/path_lock_fixture.h"
#include "zklock/core/lock_delay.h"

namespace zklock::model {

inline constexpr std::chrono::milliseconds kDelay{5'000};

/// A holder that leaves a delay marker behind, and the contenders behind it.
class LockDelay : public PathLockTest {
 protected:
  using Kind = OperationKind;
  using Request = LockWorld::Request;

  static Request delayed(std::chrono::milliseconds lock_delay = kDelay) {
    return {.lock_delay = lock_delay};
  }
  static Request within(Duration timeout, Request request = {}) {
    request.timeout = timeout;
    return request;
  }
  Instant now() { return lock_.world().now(); }
  std::vector<std::string> marker_nodes() {
    auto names = lock_.nodes();
    std::erase_if(names, [](const auto& name) { return !core::DelayMarker::parse(name); });
    return names;
  }
  std::size_t markers() { return marker_nodes().size(); }
  /// Ends the session of the client, which holds the lock.
  void lose(std::size_t client) {
    lock_.world().expire(client);
    run();
  }
  void expect_granted_after(Duration length, std::size_t call) {
    run_for(length - 1ns);
    EXPECT_EQ(lock_.call(call).outcomes, 0) << "too early";
    run_for(1ns);
    EXPECT_TRUE(is_granted(call)) << "too late";
  }
  /// Expects that the next contender removes what is left, and leaves nothing itself.
  void expect_rest_after_next() {
    const auto next = lock_.acquire(2);
    run_for(kDelay);
    EXPECT_TRUE(is_granted(next));
    release(next);
    expect_rest();
  }
};

}  // namespace zklock::model
