// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <cstddef>
#include <vector>

#include <gtest/gtest.h>

#include "tests/model/path_lock_fixture.h"
#include "zklock/core/child_nodes.h"
#include "zklock/core/cohort_policy.h"

namespace zklock::model {

/// Contenders of one client that share a znode, and contenders of other clients.
class CohortTest : public PathLockTest {
 protected:
  static Request on(core::CohortPolicy terms) { return {.local = terms}; }
  static Request once(Request request) {
    request.timeout = 0s;
    return request;
  }
  /// A batch bound that no test reaches.
  static Request many() { return on({.batch = 1'000}); }
  CallResult& call(std::size_t i) { return lock_.call(i); }
  std::vector<std::size_t> several_wait(std::size_t client, const Request& request, int count) {
    std::vector<std::size_t> calls;
    for (int i = 0; i < count; ++i) {
      Request one = request;
      one.owner = Owner::unique();
      calls.push_back(waiting(client, one));
    }
    return calls;
  }
  /// Expects that `next` was granted on the lock znode of `before`.
  void expect_same_node(std::size_t before, std::size_t next) {
    ASSERT_TRUE(is_granted(next));
    EXPECT_EQ(call(next).node, call(before).node);
    EXPECT_EQ(call(next).token.zxid, call(before).token.zxid);
    EXPECT_GT(call(next).token, call(before).token);
  }
  void expect_new_node(std::size_t before, std::size_t next) {
    ASSERT_TRUE(is_granted(next));
    EXPECT_GT(call(next).token.zxid, call(before).token.zxid);
    EXPECT_EQ(call(next).token.grant_index, 0U);
  }
};

}  // namespace zklock::model
