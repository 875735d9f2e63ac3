// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

namespace zklock::testing {

// A persistent node of its own for a test, named after the running test, and removed with all that
// is below it at the end (whatever the ACLs, on the servers of this kit). It keeps no connection
// open, so that servers may go and come back during the test; they must be up at the end, or the
// node stays.
class TestChroot {
 public:
  // `hosts` without a chroot. Throws ConnectError or std::runtime_error.
  explicit TestChroot(std::string hosts);
  ~TestChroot();
  TestChroot(const TestChroot&) = delete;
  TestChroot& operator=(const TestChroot&) = delete;

  const std::string& path() const noexcept { return path_; }  // "/zklock-test-..."
  // A connect string whose "/" is this node.
  std::string hosts() const { return hosts_ + path_; }

  // A "user:password" that the removal needs on servers that are not this kit's.
  void also_remove_as(std::string credential) { credentials_.push_back(std::move(credential)); }

  // EXPECT_TRUE(chroot.is_empty()) names what is left.
  ::testing::AssertionResult is_empty() const;

 private:
  std::string hosts_;
  std::string path_;
  std::vector<std::string> credentials_;
};

}  // namespace zklock::testing
