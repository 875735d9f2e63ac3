// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

namespace zklock::testing {

// A persistent znode for one test, named after the running test. The destructor deletes it with all
// znodes below it; on the servers of this kit, their ACLs do not matter. No connection stays open,
// so servers may stop and restart during the test. If they are down at the end, the znode stays.
class TestChroot {
 public:
  // REQUIRES: `hosts` has no chroot. Throws ConnectError or std::runtime_error.
  explicit TestChroot(std::string hosts);
  ~TestChroot();
  TestChroot(const TestChroot&) = delete;
  TestChroot& operator=(const TestChroot&) = delete;

  const std::string& path() const noexcept { return path_; }  // "/zklock-test-..."
  // Returns a connect string whose "/" is this znode.
  std::string hosts() const { return hosts_ + path_; }

  // Adds a "user:password" that the deletion needs on servers that are not of this kit.
  void also_remove_as(std::string credential) { credentials_.push_back(std::move(credential)); }

  // Returns whether no child is left; the message of a failed EXPECT_TRUE names the rest.
  ::testing::AssertionResult is_empty() const;

 private:
  std::string hosts_;
  std::string path_;
  std::vector<std::string> credentials_;
};

}  // namespace zklock::testing
