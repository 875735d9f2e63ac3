// SPDX-License-Identifier: Apache-2.0
// Connections that break and come back: the session and its holds survive.
#include <algorithm>
#include <future>
#include <memory>

#include <gtest/gtest.h>

#include "conformance/chronicle.h"
#include "conformance/lock_test.h"
#include "conformance/log_capture.h"

namespace zklock::testing {
namespace {

class Reconnect : public OwnServerTest {
 protected:
  // A long session timeout: the lease outlasts a restart of the server.
  static ClientOptions patient(ClientOptions options) {
    options.session_timeout = 60s;
    return options;
  }
};

TEST_F(Reconnect, RestartWithinLease_HoldIsRetained) {
  const auto client = connect(patient(options()));
  ReentrantMutex mutex(*client, kPath);
  Chronicle<ConnectionState> received;
  const auto subscription = client->add_listener([&](ConnectionState s) { received.add(s); });
  Hold hold = mutex.acquire();
  const auto token = hold.token();
  const auto session = client->session_id();

  server_.kill();
  EXPECT_TRUE(eventually([&] { return hold.state() == HoldState::suspended; }, kTestTimeout));
  EXPECT_TRUE(received.has(ConnectionState::suspended));
  EXPECT_FALSE(client->is_connected());
  EXPECT_TRUE(mutex.is_held_by_this_thread());  // the lease is valid
  EXPECT_EQ(mutex.acquire().token(), token);    // nests without a server
  const auto lease = hold.valid_until();
  EXPECT_GT(lease, LeaseClock::now());

  start_again(*client);
  EXPECT_TRUE(received.has(ConnectionState::reconnected));
  EXPECT_TRUE(eventually([&] { return hold.state() == HoldState::held; }, kTestTimeout));
  EXPECT_TRUE(eventually([&] { return hold.valid_until() > lease; }, kTestTimeout));
  EXPECT_EQ(hold.token(), token);
  EXPECT_EQ(client->session_id(), session);
  EXPECT_FALSE(hold.loss_token().stop_requested());
  EXPECT_EQ(received.all(),
            (std::vector{ConnectionState::suspended, ConnectionState::reconnected}));
  hold.release();
  EXPECT_TRUE(client->flush(kTestTimeout));
  EXPECT_TRUE(nodes().empty());
}

// A paused server is a broken connection that no side has closed.
TEST_F(Reconnect, ServerPaused_HoldIsLostAtLeaseEnd) {
  const auto client = connect();
  ReentrantMutex mutex(*client, kPath);
  const Hold hold = mutex.acquire();
  std::promise<void> lost;
  const std::stop_callback on_loss(hold.loss_token(), [&] { lost.set_value(); });
  server_.pause();
  const auto session_ends = LeaseClock::now() + client->session_timeout();
  // The end of the lease. On a busy machine the test may notice the loss later.
  auto lease_ends = hold.valid_until();
  ASSERT_TRUE(eventually(
      [&] {
        lease_ends = std::max(lease_ends, hold.valid_until());
        return hold.state() == HoldState::lost;
      },
      kTestTimeout));
  EXPECT_LT(lease_ends, session_ends) << "before the servers could give the lock away";
  auto loss = lost.get_future();
  get(loss);
  server_.resume();
  EXPECT_TRUE(becomes_empty());  // even if the session still lives
}

TEST_F(Reconnect, NoServerForSessionTimeout_NotifiesLost) {
  ClientOptions short_session = options();
  short_session.session_timeout = 2s;
  const auto client = connect(short_session);
  Chronicle<ConnectionState> received;
  const auto subscription = client->add_listener([&](ConnectionState s) { received.add(s); });
  server_.kill();
  EXPECT_TRUE(received.has(ConnectionState::lost)) << "although no server runs";
  EXPECT_EQ(received.all(), (std::vector{ConnectionState::suspended, ConnectionState::lost}));
  EXPECT_EQ(client->session_id(), 0);
  start_again();
  EXPECT_TRUE(received.has(ConnectionState::connected)) << "a new session";
}

TEST(ReconnectElsewhere, LaterServerGrantsOtherTimeout_LogsWarning) {
  TestServer first({.max_session_timeout = 2s});
  TestServer second({.max_session_timeout = 4s});
  first.start();
  ASSERT_TRUE(first.wait_until_serving()) << first.log();
  const LogCapture log;
  ClientOptions of_both;
  of_both.hosts = first.hosts() + "," + second.hosts();
  of_both.session_timeout = 30s;
  of_both.logger = log.logger();
  Client client(of_both);
  ASSERT_TRUE(client.wait_until_connected(kTestTimeout));
  // A thread of the client writes the log later.
  const auto warns = [&log](const std::string& timeouts) {
    const std::string warning = "granted a timeout of " + timeouts;
    return eventually([&] { return log.contains(warning); }, kTestTimeout);
  };
  EXPECT_TRUE(warns("2000 ms, not 30000 ms")) << log.text();
  first.kill();
  second.start();
  EXPECT_TRUE(warns("4000 ms, not 2000 ms")) << log.text();
}

// An emptied server has a lower zxid than the client, and refuses its session without an answer.
TEST_F(Reconnect, ServerEmptied_GrantsAgain) {
  ClientOptions without_chroot = options();
  without_chroot.hosts = server_.hosts();
  without_chroot.session_timeout = 2s;
  const auto client = connect(without_chroot);
  ReentrantMutex mutex(*client, kPath);
  for (int i = 0; i < 10; ++i) mutex.acquire().release();
  ASSERT_TRUE(client->flush(kTestTimeout));
  const Hold hold = mutex.acquire({.owner = Owner::unique()});
  ASSERT_EQ(hold.state(), HoldState::held);

  server_.kill();
  server_.erase_data();
  start_again();
  const Hold again = mutex.acquire({.owner = Owner::unique(), .deadline = kTestTimeout});
  EXPECT_EQ(again.state(), HoldState::held);
  EXPECT_EQ(hold.state(), HoldState::lost);
}

// Calls that begin without a server wait for a connection until their deadline.
TEST_F(Reconnect, ServerDown_CallsWaitUntilDeadline) {
  ClientOptions impatient = patient(options());
  impatient.connection_timeout = 300ms;  // a longer deadline takes precedence
  const auto client = connect(impatient);
  ReentrantMutex mutex(*client, kPath);
  server_.kill();
  ASSERT_TRUE(eventually([&] { return !client->is_connected(); }, kTestTimeout));
  auto waiting = mutex.async_acquire(AcquireOptions{.deadline = kTestTimeout});
  auto short_one = mutex.async_acquire(AcquireOptions{.deadline = 200ms});
  EXPECT_EQ(error_of([&] { return get(short_one); }), Errc::not_connected);
  EXPECT_EQ(error_of([&] { mutex.lock(); }), Errc::not_connected) << "it has no deadline";
  EXPECT_FALSE(client->wait_until_connected(50ms));
  EXPECT_FALSE(is_ready(waiting));
  server_.start();
  EXPECT_EQ(get(waiting).state(), HoldState::held);
}

}  // namespace
}  // namespace zklock::testing
