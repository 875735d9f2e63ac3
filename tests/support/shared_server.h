// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>
#include <mutex>
#include <string>

#include <gtest/gtest.h>

#include "zklock/testing/test_server.h"

namespace zklock::testing {

// One standalone server for all tests of a binary. The first test that needs it starts it; it stops
// after the last test. If the environment variable ZKLOCK_HOSTS is set, the tests use those servers
// instead. The class registers itself with GoogleTest; a test only calls hosts(). Tests that stop,
// pause or overload a server use their own TestServer. Thread-safe.
class SharedServer : public ::testing::Environment {
 public:
  // Returns a connect string without a chroot; tests add theirs with a TestChroot. Throws
  // std::runtime_error if the server does not start.
  static std::string hosts();
  // Returns null if the tests use ZKLOCK_HOSTS.
  static TestServer* server();

  void TearDown() override;

 private:
  TestServer* start_once();

  std::mutex mutex_;
  std::unique_ptr<TestServer> server_;  // guarded by mutex_
};

}  // namespace zklock::testing
