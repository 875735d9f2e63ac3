// SPDX-License-Identifier: Apache-2.0
// Client addresses without a server, with a wrong server, or malformed.
#include <cstddef>
#include <filesystem>
#include <future>
#include <iterator>
#include <memory>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "conformance/lock_test.h"
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

bool mentions(const std::string& text, const std::string& part) {
  return text.find(part) != std::string::npos;
}

TEST(Address, MalformedAddress_IsRefusedByTheConstructor) {
  for (const std::string hosts : {"",
                                  " ",
                                  ",",
                                  "127.0.0.1",
                                  "127.0.0.1:",
                                  "127.0.0.1:0",
                                  "127.0.0.1:65536",
                                  "127.0.0.1:-1",
                                  "127.0.0.1:2181x",
                                  "127.0.0.1:99999999999999999999",
                                  ":2181",
                                  "127.0.0.1:2181,",
                                  ",127.0.0.1:2181",
                                  "127.0.0.1:2181,,127.0.0.1:2182",
                                  "127.0.0.1 :2181",
                                  "host name:2181",
                                  "[::1:2181",
                                  "::1:2181",
                                  "127.0.0.1:2181//",
                                  "127.0.0.1:2181/a/",
                                  "127.0.0.1:2181/a//b",
                                  "127.0.0.1:2181/../a",
                                  "127.0.0.1:2181/zookeeper",
                                  "127.0.0.1:2181/a\nb",
                                  "/chroot"}) {
    const std::string text = error_text_of([&] { return std::make_unique<Client>(at(hosts)); });
    EXPECT_TRUE(mentions(text, "[invalid_hosts]")) << '"' << hosts << "\": " << text;
  }
}

TEST(Address, LongOrHostileAddress_IsEscapedAndTruncated) {
  const std::string text = error_text_of(
      [&] { return std::make_unique<Client>(at(std::string(9000, 'a') + "\x1b[2J")); });
  EXPECT_TRUE(mentions(text, "[invalid_hosts]")) << text;
  EXPECT_LT(text.size(), 1000U);
  EXPECT_FALSE(mentions(text, "\x1b"));
}

TEST(Address, OptionsOutOfRange_AreRefused) {
  const auto refused = [](auto change) {
    ClientOptions options = at("127.0.0.1:1");
    change(options);
    return error_of([&] { return std::make_unique<Client>(options); });
  };
  EXPECT_EQ(refused([](auto& o) { o.session_timeout = 0ms; }), Errc::invalid_option);
  EXPECT_EQ(refused([](auto& o) { o.session_timeout = -1ms; }), Errc::invalid_option);
  EXPECT_EQ(refused([](auto& o) { o.connection_timeout = -1ms; }), Errc::invalid_option);
  EXPECT_EQ(refused([](auto& o) { o.retry_delay_min = -1ms; }), Errc::invalid_option);
  EXPECT_EQ(refused([](auto& o) { o.retry_delay_max = o.retry_delay_min - 1ms; }),
            Errc::invalid_option);
  EXPECT_EQ(refused([](auto& o) { o.max_in_flight = 0; }), Errc::invalid_option);
  EXPECT_EQ(refused([](auto& o) { o.acl = AclPolicy::creator_all(); }), Errc::invalid_acl);
  EXPECT_EQ(refused([](auto& o) { o.acl = AclPolicy::list({}); }), Errc::invalid_acl);
  EXPECT_EQ(refused([](auto& o) {
              o.tls = TlsOptions{.ca_file = "/nowhere/ca.pem",
                                 .certificate_file = "/nowhere/cert.pem",
                                 .key_file = "/nowhere/key.pem",
                                 .key_password = "secret"};
            }),
            Errc::unsupported);
}

std::ptrdiff_t count_entries(const char* directory) {
  const auto all = std::filesystem::directory_iterator(directory);
  return std::distance(begin(all), end(all));
}

TEST(Address, RefusedOptions_OpenNothing) {
  const auto threads = count_entries("/proc/self/task");
  const auto descriptors = count_entries("/proc/self/fd");
  ClientOptions without_credential = at("127.0.0.1:2181");
  without_credential.acl = AclPolicy::creator_all();
  for (const ClientOptions& options : {at("127.0.0.1:2181/a/"), without_credential}) {
    EXPECT_THROW(Client{options}, Error);
    EXPECT_EQ(count_entries("/proc/self/task"), threads);
    EXPECT_EQ(count_entries("/proc/self/fd"), descriptors);
  }
}

TEST(Address, UnresolvableHost_ErrorNamesTheCause) {
  Client client(at("no-such-host.invalid:2181"));
  EXPECT_FALSE(client.wait_until_connected(200ms));
  const auto deadline = LeaseClock::now() + 500ms;
  const std::string text = lock_error(client, deadline);
  EXPECT_GE(LeaseClock::now(), deadline);
  EXPECT_EQ(text.rfind("lock /lock: ", 0), 0U) << text;
  EXPECT_TRUE(mentions(text, "[not_connected]")) << text;
  EXPECT_TRUE(mentions(text, "no-such-host.invalid")) << text;
  EXPECT_TRUE(mentions(text, "resolve")) << text;
}

TEST(Address, WithoutAServer_LockFailsAtTheDeadline) {
  const FreePorts unused(1);
  const std::string address = "127.0.0.1:" + std::to_string(unused[0]);
  Client client(at(address));
  const auto deadline = LeaseClock::now() + 500ms;
  const std::string text = lock_error(client, deadline);
  EXPECT_GE(LeaseClock::now(), deadline);
  EXPECT_EQ(text.rfind("lock /lock: ", 0), 0U) << text;
  EXPECT_TRUE(mentions(text, "[not_connected]")) << text;
  EXPECT_TRUE(mentions(text, address)) << text;
  EXPECT_FALSE(client.is_connected());
  EXPECT_EQ(client.session_id(), 0);
  EXPECT_EQ(client.session_timeout(), 0ms);
  ReentrantMutex mutex(client, kPath);
  EXPECT_EQ(error_of([&] { return mutex.participants(300ms); }), Errc::not_connected);
  EXPECT_EQ(error_of([&] { return mutex.queue_position(std::nullopt, 300ms); }),
            Errc::not_connected);
}

TEST(Address, WithoutAServer_LockFailsAtTheConnectionTimeout) {
  const FreePorts unused(1);
  ClientOptions options = at("127.0.0.1:" + std::to_string(unused[0]));
  options.connection_timeout = 300ms;
  Client client(options);
  ReentrantMutex mutex(client, kPath);
  EXPECT_EQ(error_of([&] { return mutex.try_lock(); }), Errc::not_connected);
  EXPECT_EQ(error_of([&] { return mutex.try_lock_for(-1s); }), Errc::not_connected);
  // lock() also throws after connection_timeout: its contender has not been enqueued yet.
  EXPECT_EQ(error_of([&] { mutex.lock(); }), Errc::not_connected);
}

// A deadline replaces connection_timeout, also a longer one.
TEST(Address, WithoutAServer_QueriesFailAtTheDeadline) {
  const FreePorts unused(1);
  ClientOptions options = at("127.0.0.1:" + std::to_string(unused[0]));
  options.connection_timeout = 50ms;
  Client client(options);
  const ReentrantMutex mutex(client, kPath);
  const Semaphore semaphore(client, kPath, SharedCount{.initial = 2});
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
  fail([&](Deadline deadline) { return mutex.participants(deadline); });
  fail([&](Deadline deadline) { return mutex.queue_position(std::nullopt, deadline); });
  fail([&](Deadline deadline) { return semaphore.permits(deadline); });
  fail([&](Deadline deadline) { return semaphore.available_permits(deadline); });
  fail([&](Deadline deadline) { return latch.leader(deadline); });
  fail([&](Deadline deadline) { return lock.state(deadline); });
  fail([&](Deadline deadline) { return election.state(deadline); });
  EXPECT_EQ(error_of([&] { return request_release(client, kPath); }), Errc::not_connected);
  const auto began = LeaseClock::now();
  EXPECT_FALSE(request_release(client, kPath, {.deadline = 200ms}));
  EXPECT_GE(LeaseClock::now() - began, 200ms);
}

TEST(Address, WithoutAServer_CloseEndsTheWaitForAConnection) {
  const FreePorts unused(1);
  Client client(at("127.0.0.1:" + std::to_string(unused[0])));
  auto waiting = in_thread([&] { return client.wait_until_connected(); });
  EXPECT_FALSE(eventually([&] { return is_ready(waiting); }, 100ms));
  client.close();
  EXPECT_EQ(error_of([&] { return get(waiting); }), Errc::closed);
}

// Also holds if max_in_flight lets only one create be sent at a time.
TEST(Address, WithoutAServer_BurstFailsAtTheConnectionTimeout) {
  const FreePorts unused(1);
  ClientOptions options = at("127.0.0.1:" + std::to_string(unused[0]));
  options.connection_timeout = 2s;
  options.max_in_flight = 1;
  Client client(options);
  ReentrantMutex mutex(client, kPath);
  std::vector<std::future<Hold>> burst;
  for (int i = 0; i < 200; ++i) burst.push_back(mutex.async_acquire());
  for (auto& each : burst) {
    EXPECT_EQ(error_of([&] { return get(each); }), Errc::not_connected);
  }
}

class AddressTest : public LockTest {};

TEST_F(AddressTest, MissingChroot_LockFailsUntilItIsCreated) {
  Client client(at(chroot_.hosts() + "/not/there"));
  const std::string text = lock_error(client, kTestTimeout);
  EXPECT_EQ(text.rfind("lock /lock: ", 0), 0U) << text;
  EXPECT_TRUE(mentions(text, "[no_chroot]")) << text;
  EXPECT_TRUE(mentions(text, "chroot")) << text;
  EXPECT_EQ(raw().exists("/not").rc, ZNONODE);
  // When the chroot is created later, the client can lock without being recreated.
  ASSERT_EQ(raw().create("/not").rc, ZOK);
  ASSERT_EQ(raw().create("/not/there").rc, ZOK);
  EXPECT_EQ(lock_error(client, kTestTimeout), "");
}

TEST_F(AddressTest, CreateChroot_CreatesItWithEachFirstLock) {
  ClientOptions options = at(chroot_.hosts() + "/made/here");
  options.create_chroot = true;
  Client client(options);
  EXPECT_EQ(lock_error(client, kTestTimeout), "");
  EXPECT_EQ(raw().exists("/made/here/lock").rc, ZOK);
  // The servers delete empty containers, and another program may delete the chroot.
  ASSERT_EQ(raw().delete_recursive("/made"), ZOK);
  EXPECT_EQ(lock_error(client, kTestTimeout), "");
  EXPECT_EQ(raw().exists("/made/here/lock").rc, ZOK);
}

TEST_F(AddressTest, CreateChroot_ExistingChrootKeepsItsData) {
  ASSERT_EQ(raw().create("/apps", "data").rc, ZOK);
  ClientOptions options = at(chroot_.hosts() + "/apps");
  options.create_chroot = true;
  Client client(options);
  EXPECT_EQ(lock_error(client, kTestTimeout), "");
  EXPECT_EQ(raw().get_data("/apps").data, "data");
}

TEST_F(AddressTest, DeadServersInTheList_LockIsGranted) {
  const FreePorts unused(2);
  const std::string dead = "127.0.0.1:" + std::to_string(unused[0]);
  for (const std::string& hosts :
       {dead + "," + chroot_.hosts(),
        dead + ",127.0.0.1:" + std::to_string(unused[1]) + "," + chroot_.hosts()}) {
    Client client(at(hosts));
    EXPECT_TRUE(client.wait_until_connected(kTestTimeout));
    EXPECT_EQ(lock_error(client, kTestTimeout), "");
  }
}

}  // namespace
}  // namespace zklock::testing
