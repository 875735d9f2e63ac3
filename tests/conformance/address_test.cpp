// SPDX-License-Identifier: Apache-2.0
// Client addresses without a server, and chroots.
#include <cstddef>
#include <filesystem>
#include <iterator>
#include <memory>
#include <string>

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

TEST(Address, LongAddress_IsTruncated) {
  const std::string text =
      error_text_of([] { return std::make_unique<Client>(at(std::string(9000, 'a'))); });
  EXPECT_TRUE(mentions(text, "[invalid_hosts]")) << text;
  EXPECT_LT(text.size(), 1000U);
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

// A deadline replaces connection_timeout, also a longer one.
TEST(Address, WithoutAServer_CallsFailAtTheDeadline) {
  const FreePorts unused(1);
  ClientOptions options = at("127.0.0.1:" + std::to_string(unused[0]));
  options.connection_timeout = 50ms;
  Client client(options);
  ReentrantMutex mutex(client, kPath);
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
  fail([&](Deadline deadline) { return mutex.acquire({.deadline = deadline}); });
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
