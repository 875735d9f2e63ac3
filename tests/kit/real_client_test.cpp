// SPDX-License-Identifier: Apache-2.0
#include <chrono>

#include <gtest/gtest.h>

#include "zklock/testing/fake_ensemble.h"
#include "zklock/testing/servers/wait_for.h"
#include "zklock/testing/test_server.h"
#include "zklock/zklock.h"

namespace zklock::testing {
namespace {

using namespace std::chrono_literals;

// The promise of a lease concerns real servers, so virtual time must not change it.
TEST(RealClient, VirtualTimePasses_LeaseStaysReal) {
  ZKLOCK_SKIP_WITHOUT_SERVER();
  TestServer server;
  server.start();
  ASSERT_TRUE(server.wait_until_serving()) << server.log();
  ClientOptions options;
  options.hosts = server.hosts();
  options.session_timeout = 3s;
  Client client(options);
  Mutex mutex(client, "/locks/real");
  const Hold hold = mutex.acquire();
  ASSERT_TRUE(hold);

  FakeEnsemble ensemble({.rest_limit = 0ms});
  ensemble.advance(1h);
  const auto before = hold.valid_until();
  EXPECT_TRUE(eventually([&] { return hold.valid_until() > before; })) << "heartbeats extend it";
  EXPECT_TRUE(hold.is_valid());
  server.pause();
  EXPECT_TRUE(eventually([&] { return !hold.is_valid(); })) << "virtual time stands still";
  server.resume();
}

}  // namespace
}  // namespace zklock::testing
