// SPDX-License-Identifier: Apache-2.0
// The znodes of a FakeEnsemble, as an operator or another kind of client changes them.
#include <chrono>
#include <future>
#include <optional>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "zklock/testing/fake_ensemble.h"
#include "zklock/zklock.h"

namespace zklock::testing {
namespace {

using namespace std::chrono_literals;

TEST(FakeZnodes, Znodes_AreReadAndChanged) {
  FakeEnsemble ensemble;
  EXPECT_TRUE(ensemble.create("/a/b/c", "data"));
  EXPECT_FALSE(ensemble.create("/a/b/c"));
  EXPECT_EQ(ensemble.data("/a/b/c"), "data");
  EXPECT_TRUE(ensemble.set_data("/a/b/c", "more"));
  EXPECT_EQ(ensemble.data("/a/b/c"), "more");
  EXPECT_EQ(ensemble.children("/a/b"), std::vector<std::string>{"c"});
  EXPECT_FALSE(ensemble.remove("/a"));
  EXPECT_TRUE(ensemble.remove("/a/b/c"));
  EXPECT_EQ(ensemble.data("/a/b/c"), std::nullopt);
}

TEST(FakeZnodes, SequentialZnode_HasNextNumber) {
  FakeEnsemble ensemble;
  EXPECT_EQ(ensemble.create_sequential("no-path"), std::nullopt);
  EXPECT_EQ(ensemble.create_sequential("/a/lock-"), std::nullopt);
  EXPECT_EQ(ensemble.create_sequential("/lock-"), "/lock-0000000000");
  EXPECT_TRUE(ensemble.create("/a"));
  EXPECT_EQ(ensemble.create_sequential("/a/lock-", "data"), "/a/lock-0000000000");
  EXPECT_EQ(ensemble.create_sequential("/a/lock-"), "/a/lock-0000000001");
  EXPECT_EQ(ensemble.data("/a/lock-0000000000"), "data");
}

TEST(FakeZnodes, ForeignContender_BlocksUntilDeleted) {
  FakeEnsemble ensemble;
  const auto client = ensemble.client();
  Mutex mutex(*client, "/locks/job");
  ASSERT_TRUE(ensemble.create("/locks/job"));
  const auto foreign = ensemble.create_sequential("/locks/job/lock-");
  ASSERT_TRUE(foreign);
  auto waiting = mutex.async_acquire();
  ensemble.settle();
  EXPECT_NE(waiting.wait_for(0s), std::future_status::ready);
  EXPECT_TRUE(ensemble.remove(*foreign));
  EXPECT_EQ(waiting.wait_for(0s), std::future_status::ready);
}

}  // namespace
}  // namespace zklock::testing
