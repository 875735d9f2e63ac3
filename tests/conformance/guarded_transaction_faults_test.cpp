// SPDX-License-Identifier: Apache-2.0
// Commits without a server, without a reply and after the loss of the hold.
#include <memory>
#include <string>

#include <gtest/gtest.h>

#include "conformance/interruption.h"
#include "conformance/lock_test.h"

namespace zklock::testing {
namespace {

class GuardedTransactionFaults : public OwnServerTest {
 protected:
  void SetUp() override { ASSERT_EQ(raw().create("/old", "1").rc, ZOK); }
  std::string data() { return raw().get_data("/old").data; }

  // A long session timeout: the hold survives the faults.
  std::unique_ptr<Client> client_ = [this] {
    ClientOptions long_lived = options();
    long_lived.session_timeout = 60s;
    return connect(long_lived);
  }();
  ReentrantMutex mutex_{*client_, kPath};
};

TEST_F(GuardedTransactionFaults, WithoutAServer_CommitWaitsForTheConnection) {
  const Hold hold = mutex_.acquire();
  GuardedTransaction tx(hold);
  tx.set("/old", "2");
  server_.kill();
  ASSERT_TRUE(eventually([&] { return hold.state() == HoldState::suspended; }, kTestTimeout));
  EXPECT_EQ(error_of([&] { tx.commit(200ms); }), Errc::not_connected);
  EXPECT_EQ(error_of([&] { tx.commit(Deadline::passed()); }), Errc::not_connected);
  auto committed = tx.async_commit();
  EXPECT_FALSE(is_ready(committed));
  start_again(*client_);
  get(committed);
  const auto written = raw().get_data("/old");
  EXPECT_EQ(written.data, "2");
  EXPECT_EQ(written.stat.version, 1) << "what had been given up was never sent";
}

TEST_F(GuardedTransactionFaults, HoldIsLostWhileDisconnected_NothingIsWritten) {
  ClientOptions short_lived = options();
  short_lived.session_timeout = 5s;
  const auto client = connect(short_lived);
  ReentrantMutex mutex(*client, "/short");
  const Hold hold = mutex.acquire();
  GuardedTransaction tx(hold);
  tx.set("/old", "2");
  server_.kill();
  ASSERT_TRUE(eventually([&] { return hold.state() != HoldState::held; }, kTestTimeout));
  auto committed = tx.async_commit();
  // The error is reported without a request.
  EXPECT_EQ(error_of([&] { return get(committed), 0; }), Errc::lock_lost);
  start_again();
  EXPECT_EQ(data(), "1");
}

TEST_F(GuardedTransactionFaults, InterruptedCommit_ReturnsAtOnceAndIsNotSentLater) {
  const Hold hold = mutex_.acquire();
  GuardedTransaction tx(hold);
  tx.set("/old", "2");
  server_.kill();
  ASSERT_TRUE(eventually([&] { return hold.state() == HoldState::suspended; }, kTestTimeout));
  EXPECT_TRUE(ends_by_interruption([&] { tx.commit(); }));
  start_again(*client_);
  GuardedTransaction last(hold);
  last.check("/old", 0);
  last.commit();  // an abandoned transaction would have been executed before
}

}  // namespace
}  // namespace zklock::testing
