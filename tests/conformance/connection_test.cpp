// SPDX-License-Identifier: Apache-2.0
// Connections: addresses without a server, chroots, session timeouts that the servers limit, and
// connections that break and come back.
#include <algorithm>
#include <chrono>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "conformance/chronicle.h"
#include "conformance/lock_test.h"
#include "conformance/log_capture.h"
#include "zklock/testing/servers/free_ports.h"

namespace zklock::testing {
namespace {

ClientOptions at(const std::string& hosts) {
  ClientOptions options;
  options.hosts = hosts;
  options.session_timeout = 2s;
  return options;
}

std::string lock_error(Client& client, Deadline deadline) {
  ReentrantMutex mutex(client, kPath);
  return error_text_of([&] { return mutex.acquire({.deadline = deadline}); });
}

TEST(Address, LongAddress_IsTruncated) {
  const std::string text =
      error_text_of([] { return std::make_unique<Client>(at(std::string(9000, 'a'))); });
  EXPECT_TRUE(text.ends_with("[invalid_hosts]")) << text;
  EXPECT_LT(text.size(), 1000U);
}

TEST(Address, RefusedOptions_OpenNothing) {
  const auto threads = entries("task");
  const auto descriptors = entries("fd");
  ClientOptions without_credential = at("127.0.0.1:2181");
  without_credential.acl = AclPolicy::creator_all();
  for (const ClientOptions& options : {at("127.0.0.1:2181/a/"), without_credential}) {
    EXPECT_THROW(Client{options}, Error);
    EXPECT_EQ(entries("task"), threads);
    EXPECT_EQ(entries("fd"), descriptors);
  }
}

// A deadline replaces connection_timeout, also a longer one.
TEST(Address, WithoutAServer_CallsFailAtTheDeadline) {
  const FreePorts unused(1);
  ClientOptions options = at("127.0.0.1:" + std::to_string(unused[0]));
  options.connection_timeout = 50ms;
  Client client(options);
  ReentrantMutex mutex(client, kPath);
  Semaphore semaphore(client, kPath, SharedCount{.initial = 2});
  const LeaderLatch latch(client, kPath);
  const LockObserver lock(client, kPath);
  const ElectionObserver election(client, kPath);
  const auto fails_after = [](auto call, Deadline deadline, std::chrono::milliseconds least) {
    const auto began = LeaseClock::now();
    EXPECT_EQ(error_of([&] { return call(deadline); }), Errc::not_connected);
    EXPECT_GE(LeaseClock::now() - began, least);
  };
  const auto fail = [&](auto call) {
    fails_after(call, Deadline::never(), 50ms);
    fails_after(call, Deadline::passed(), 50ms);
    fails_after(call, 200ms, 200ms);
  };
  fail([&](Deadline deadline) { return mutex.acquire({.deadline = deadline}); });
  fail([&](Deadline deadline) { return mutex.participants(deadline); });
  fail([&](Deadline deadline) { return mutex.queue_position(std::nullopt, deadline); });
  fail([&](Deadline deadline) { return semaphore.permits(deadline); });
  fail([&](Deadline deadline) { return semaphore.available_permits(deadline); });
  fail([&](Deadline deadline) { return semaphore.set_permits(3, deadline); });
  fail([&](Deadline deadline) { return semaphore.add_permits(3, deadline); });
  fail([&](Deadline deadline) { return latch.leader(deadline); });
  fail([&](Deadline deadline) { return lock.state(deadline); });
  fail([&](Deadline deadline) { return election.state(deadline); });
  EXPECT_EQ(error_of([&] { return request_release(client, kPath); }), Errc::not_connected);
  const auto began = LeaseClock::now();
  EXPECT_FALSE(request_release(client, kPath, {.deadline = 200ms}));
  EXPECT_GE(LeaseClock::now() - began, 200ms);
  EXPECT_FALSE(client.is_connected());
  EXPECT_EQ(client.session_id(), 0);
  EXPECT_EQ(client.session_timeout(), 0ms);
}

TEST(Address, WithoutAServer_CloseEndsTheWaitForAConnection) {
  const FreePorts unused(1);
  Client client(at("127.0.0.1:" + std::to_string(unused[0])));
  auto waiting = in_thread([&] { return client.wait_until_connected(); });
  EXPECT_FALSE(eventually([&] { return is_ready(waiting); }, 100ms));
  client.close();
  EXPECT_EQ(error_of([&] { return get(waiting); }), Errc::closed);
}

class AddressTest : public LockTest {};

TEST_F(AddressTest, MissingChroot_LockFailsUntilItIsCreated) {
  Client client(at(chroot_.hosts() + "/not/there"));
  EXPECT_EQ(lock_error(client, kTestTimeout),
            "lock /lock: the chroot " + chroot_.path() + "/not/there of " + SharedServer::hosts() +
                " does not exist; create it, or set ClientOptions::create_chroot [no_chroot]");
  EXPECT_EQ(raw().exists("/not").rc, ZNONODE);
  // When the chroot is created later, the client can lock without being recreated.
  ASSERT_EQ(raw().create("/not").rc, ZOK);
  ASSERT_EQ(raw().create("/not/there").rc, ZOK);
  EXPECT_EQ(lock_error(client, kTestTimeout), "");
}

TEST_F(AddressTest, CreateChroot_CreatesWhatIsMissing) {
  ASSERT_EQ(raw().create("/apps", "data").rc, ZOK);
  ClientOptions options = at(chroot_.hosts() + "/apps/here");
  options.create_chroot = true;
  Client client(options);
  // The servers delete empty containers, and another program may delete the chroot.
  for (int i = 0; i < 2; ++i) {
    EXPECT_EQ(lock_error(client, kTestTimeout), "");
    EXPECT_EQ(raw().exists("/apps/here/lock").rc, ZOK);
    EXPECT_EQ(raw().get_data("/apps").data, "data");
    ASSERT_EQ(raw().delete_recursive("/apps/here"), ZOK);
  }
}

// tickTime is 2 s by default, minSessionTimeout two ticks, and maxSessionTimeout 20.
class DefaultTimeouts : public OwnServerTest {
 protected:
  DefaultTimeouts()
      : OwnServerTest({.tick_time = 2s,
                       .min_session_timeout = std::chrono::milliseconds(-1),
                       .max_session_timeout = std::chrono::milliseconds(-1)}) {}

  std::unique_ptr<Client> client_with(std::chrono::milliseconds timeout) const {
    ClientOptions settings = options();
    settings.session_timeout = timeout;
    return connect(settings);
  }

  // Expects a lease of two thirds of `granted` at most. It begins when a request is sent, so on a
  // busy machine a single one may be short.
  static void expect_lease_of(Client& client, std::chrono::milliseconds granted) {
    EXPECT_EQ(client.session_timeout(), granted);
    ReentrantMutex mutex(client, kPath);
    LeaseClock::duration longest{};
    for (int i = 0; i < 20; ++i) {
      const Hold hold = mutex.acquire();
      ASSERT_TRUE(static_cast<bool>(hold));
      const auto until = hold.valid_until();
      const auto now = LeaseClock::now();
      if (until > now) longest = std::max(longest, until - now);
    }
    EXPECT_LE(longest, LeaseClock::duration(granted) * 2 / 3);
    EXPECT_GE(longest, granted / 4);
  }
};

TEST_F(DefaultTimeouts, OutsideOfTheLimits_AreClamped) {
  expect_lease_of(*client_with(1s), 4s);
  expect_lease_of(*client_with(4s), 4s);
  expect_lease_of(*client_with(40s), 40s);
  expect_lease_of(*client_with(1h), 40s);
}

class Reconnect : public OwnServerTest {};

TEST_F(Reconnect, RestartWithinLease_HoldIsRetained) {
  FaultProxy door({server_.port()});
  const auto client = connect(options_by(door));
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

  start_behind(door, server_);
  EXPECT_TRUE(client->wait_until_connected(kTestTimeout));
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

}  // namespace
}  // namespace zklock::testing
