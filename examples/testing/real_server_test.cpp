// SPDX-License-Identifier: Apache-2.0
// A lost reply does not leave a second znode. This test runs a real server, if there is Java.
#include <chrono>

#include <gtest/gtest.h>

#include "zklock/testing/fault_proxy.h"
#include "zklock/testing/test_server.h"
#include "zklock/zklock.h"

namespace {

using namespace std::chrono_literals;
using zklock::testing::FaultProxy;
using zklock::testing::RequestKind;
using zklock::testing::TestServer;

TEST(RealServer, ReplyIsLost_OneZnodeIsLeft) {
  ZKLOCK_SKIP_WITHOUT_SERVER();
  TestServer server;
  server.start();
  ASSERT_TRUE(server.wait_until_serving()) << server.log();
  FaultProxy proxy({server.port()});
  zklock::Client client(proxy.hosts());
  ASSERT_TRUE(client.wait_until_connected(30s));
  zklock::Mutex mutex(client, "/locks/billing");
  ASSERT_TRUE(mutex.acquire(30s));  // creates the parents
  ASSERT_TRUE(client.flush(30s));

  proxy.lose_reply(RequestKind::create);
  const zklock::Hold hold = mutex.acquire(30s);
  EXPECT_TRUE(hold);
  EXPECT_TRUE(proxy.loss_happened());
  EXPECT_EQ(mutex.participants(30s).size(), 1U);
}

}  // namespace
