// SPDX-License-Identifier: Apache-2.0
// Use of any kind leaks no znode, watch, descriptor, thread or memory.
#include <chrono>
#include <cstddef>
#include <exception>
#include <future>
#include <mutex>
#include <sstream>
#include <stdexcept>
#include <stop_token>
#include <string>
#include <utility>
#include <vector>

#include <boost/thread/thread.hpp>
#include <gtest/gtest.h>

#include "conformance/lock_test.h"
#include "zklock/testing/servers/expire_session.h"

namespace zklock::testing {
namespace {

// The open descriptors and the threads of this process.
struct Resources {
  std::size_t descriptors = entries("fd");
  std::size_t threads = entries("task");
};

bool falls_to(const Resources& before) {
  const bool fell = eventually(
      [&] {
        const Resources now;
        return now.descriptors <= before.descriptors && now.threads <= before.threads;
      },
      kTestTimeout);
  const Resources now;
  EXPECT_LE(now.descriptors, before.descriptors);
  EXPECT_LE(now.threads, before.threads);
  return fell;
}

class Leak : public LockTest {
 protected:
  bool no_watches() const {
    const TestServer* const server = SharedServer::server();
    if (server == nullptr) return true;  // other users of that server may have watches
    return eventually(
        [&] { return query_server(*server, "wchs").find("Total watches:0") != std::string::npos; },
        kTestTimeout);
  }

  // Acquires in every way: granted, timed out, stopped, interrupted, dropped, thrown, asynchronous.
  static void use(Client& client, int turn) {
    ReentrantMutex mutex(client, kPath);
    ReentrantMutex elsewhere(client, kPath + std::to_string(turn % 7));
    const auto with_new_owner = [&](AcquireOptions options) {
      options.owner = Owner::unique();
      return mutex.acquire(std::move(options));
    };
    mutex.lock();
    mutex.lock();
    mutex.unlock();
    static_cast<void>(with_new_owner({.deadline = Deadline::passed()}));
    static_cast<void>(with_new_owner({.deadline = 1ms}));
    std::stop_source stop;
    auto stopped = mutex.async_acquire(AcquireOptions{.stop = stop.get_token()});
    { auto dropped = mutex.async_acquire(); }
    mutex.async_acquire({}, [](const Hold&, const std::exception_ptr&) {});
    stop.request_stop();
    if (turn % 10 == 0) {
      boost::thread waiting([&] {
        try {
          mutex.lock();
          mutex.unlock();
        } catch (const boost::thread_interrupted&) {
        }
      });
      waiting.interrupt();
      waiting.join();
    }
    mutex.unlock();
    static_cast<void>(get(stopped));
    const Hold other = elsewhere.acquire();
    try {
      const std::unique_lock lock(elsewhere);
      throw std::runtime_error("in the critical section");
    } catch (const std::runtime_error&) {
    }
    static_cast<void>(elsewhere.participants());
  }
};

TEST_F(Leak, ManyUses_LeakNoZnodeWatchDescriptorOrThread) {
  const auto client = connect();
  static_cast<void>(raw());
  for (int i = 0; i < 50; ++i) use(*client, i);
  EXPECT_TRUE(client->flush(kTestTimeout));
  const Resources before;
  for (int i = 0; i < 500; ++i) use(*client, i);
  EXPECT_TRUE(client->flush(kTestTimeout));
  EXPECT_TRUE(becomes_empty());
  for (int i = 0; i < 7; ++i) EXPECT_TRUE(becomes_empty(kPath + std::to_string(i)));
  EXPECT_TRUE(client->flush(kTestTimeout));
  EXPECT_TRUE(no_watches());
  EXPECT_TRUE(falls_to(before));
}

TEST_F(Leak, ManyLocksAndWaiters_NeedOneConnection) {
  const TestServer* const server = SharedServer::server();
  if (server == nullptr) GTEST_SKIP() << "needs a server of this kit";
  const auto client = connect();
  std::ostringstream id;
  id << "sid=0x" << std::hex << client->session_id() << ',';
  LockObserver observer(*client, kPath);
  const auto subscription = observer.add_listener([](const LockState&) {});
  std::vector<Hold> holds;
  std::vector<std::future<Hold>> waiting;
  for (int i = 0; i < 20; ++i) {
    ReentrantMutex mutex(*client, kPath + std::to_string(i));
    holds.push_back(mutex.acquire());
    waiting.push_back(mutex.async_acquire());
  }
  const std::string connections = query_server(*server, "cons");
  EXPECT_EQ(connections.find(id.str()), connections.rfind(id.str()));
  EXPECT_NE(connections.find(id.str()), std::string::npos);
}

TEST_F(Leak, ClientsAreDestroyed_LeakNothing) {
  static_cast<void>(raw());
  const auto live_and_die = [this] {
    const auto client = connect();
    use(*client, 0);
    const Hold hold = ReentrantMutex(*client, kPath).acquire();
  };
  for (int i = 0; i < 3; ++i) live_and_die();
  const Resources before;
  for (int i = 0; i < 10; ++i) live_and_die();
  EXPECT_TRUE(becomes_empty());
  EXPECT_TRUE(no_watches());
  EXPECT_TRUE(falls_to(before));
}

TEST_F(Leak, SessionsEnd_LeakNothing) {
  const auto client = connect();
  ReentrantMutex mutex(*client, kPath);
  static_cast<void>(raw());
  const auto expire = [&] {
    Hold hold = mutex.acquire({.deadline = kTestTimeout});
    auto waiting = mutex.async_acquire();
    ASSERT_TRUE(reaches_nodes(2));
    expire_session(chroot_.hosts(), client->session_id());
    EXPECT_TRUE(static_cast<bool>(get(waiting)));
    EXPECT_EQ(hold.state(), HoldState::lost);
  };
  for (int i = 0; i < 2; ++i) expire();
  const Resources before;
  for (int i = 0; i < 4; ++i) expire();
  EXPECT_TRUE(client->flush(kTestTimeout));
  EXPECT_TRUE(becomes_empty());
  EXPECT_TRUE(no_watches());
  EXPECT_TRUE(falls_to(before));
}

}  // namespace
}  // namespace zklock::testing
