// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>
#include <mutex>
#include <string>

#include <gtest/gtest.h>

#include "support/zookeeper_server.h"

namespace zklock::testing {

// One standalone server for all tests of a binary, started when the first of them asks for it and
// stopped after the last. When the environment variable ZKLOCK_HOSTS is set, the tests use those
// servers instead. It registers itself with GoogleTest; a test only calls hosts(). Tests that stop,
// pause or overload a server take a ZooKeeperServer of their own. Thread-safe.
class SharedServer : public ::testing::Environment {
 public:
  // A connect string without a chroot; tests put theirs in a TestChroot. Throws std::runtime_error
  // when the server does not come up.
  static std::string hosts();
  // Null when the tests use ZKLOCK_HOSTS.
  static ZooKeeperServer* server();

  void TearDown() override;

 private:
  ZooKeeperServer* start_once();

  std::mutex mutex_;
  std::unique_ptr<ZooKeeperServer> server_;  // guarded by mutex_
};

}  // namespace zklock::testing
