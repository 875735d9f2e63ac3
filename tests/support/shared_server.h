// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>
#include <mutex>
#include <string>

#include <gtest/gtest.h>

#include "zklock/testing/test_server.h"

namespace zklock::testing {

// Starts the server if it has ended. Resumes it if it is paused. An earlier test may have left it
// in either state. Blocks until it serves. Throws std::runtime_error, with the log of the server,
// if it does not serve within a minute.
void serve(TestServer& server);

// Two standalone servers for all tests of a binary. The tests that stop, pause or overload a server
// use the second one. The first test that needs a server starts it, and it stops after the last
// test. If the environment variable ZKLOCK_HOSTS is set, its servers replace the first one, but not
// the second one. The class registers itself with GoogleTest. Thread-safe.
class SharedServer : public ::testing::Environment {
 public:
  // Returns the connect string of the first server, without a chroot. Tests add theirs with a
  // TestChroot. Throws std::runtime_error if the server does not start.
  static std::string hosts();
  // Returns the first server, or null if the tests use ZKLOCK_HOSTS.
  static TestServer* server();
  // Returns the second server, after serve(). It keeps its znodes between tests.
  static TestServer& of_faults();

  void TearDown() override;

 private:
  std::mutex mutex_;
  std::unique_ptr<TestServer> server_;     // guarded by mutex_
  std::unique_ptr<TestServer> of_faults_;  // guarded by mutex_
};

}  // namespace zklock::testing
