// SPDX-License-Identifier: Apache-2.0
// A handler owns what it captures, even the Client itself.
#include <future>
#include <memory>
#include <stop_token>
#include <thread>
#include <utility>

#include <gtest/gtest.h>

#include "conformance/lock_test.h"

namespace zklock::testing {
namespace {

// A client and its mutex. The thread that drops the last reference destroys both and reports its
// id.
struct Belongings {
  std::shared_ptr<Client> client;
  std::unique_ptr<ReentrantMutex> mutex;  // destroyed first
};

class CallbackOwnership : public LockTest {
 protected:
  static constexpr int kRounds = 200;

  std::shared_ptr<Client> reported_client(std::promise<std::thread::id>& destroyed) const {
    return {connect().release(), [&destroyed](Client* client) {
              delete client;
              destroyed.set_value(std::this_thread::get_id());
            }};
  }
  Belongings belongings(std::promise<std::thread::id>& destroyed) const {
    Belongings all;
    all.client = reported_client(destroyed);
    all.mutex = std::make_unique<ReentrantMutex>(*all.client, kPath);
    return all;
  }
};

TEST_F(CallbackOwnership, HandlerOwnsTheClient_DestroysItAfterTheGrant) {
  const auto holder = connect();
  ReentrantMutex holders_mutex(*holder, kPath);
  for (int round = 0; round < kRounds; ++round) {
    std::promise<std::thread::id> called;
    std::promise<std::thread::id> destroyed;
    Hold hold = holders_mutex.acquire();
    {
      auto all = std::make_shared<Belongings>(belongings(destroyed));
      all->mutex->async_acquire({}, [all, &called](const Hold& granted, const auto& error) {
        EXPECT_TRUE(static_cast<bool>(granted));
        EXPECT_EQ(error, nullptr);
        called.set_value(std::this_thread::get_id());
      });
    }
    hold.release();  // the handler has the last reference to the client
    auto caller = called.get_future();
    auto destroyer = destroyed.get_future();
    ASSERT_EQ(get(caller), get(destroyer)) << "round " << round;
  }
  EXPECT_TRUE(becomes_empty());
}

// A call that is stopped ends without a grant. The thread that requests the stop runs the handler
// and destroys the client.
TEST_F(CallbackOwnership, HandlerOwnsTheClient_DestroysItAfterAStop) {
  const auto holder = connect();
  ReentrantMutex holders_mutex(*holder, kPath);
  const Hold hold = holders_mutex.acquire();
  for (int round = 0; round < kRounds / 4; ++round) {
    std::promise<std::thread::id> called;
    std::promise<std::thread::id> destroyed;
    std::stop_source stop;
    {
      auto all = std::make_shared<Belongings>(belongings(destroyed));
      all->mutex->async_acquire({.stop = stop.get_token()},
                                [all, &called](const Hold& granted, const auto& error) {
                                  EXPECT_FALSE(static_cast<bool>(granted));
                                  EXPECT_EQ(error, nullptr);
                                  called.set_value(std::this_thread::get_id());
                                });
    }
    stop.request_stop();
    auto caller = called.get_future();
    auto destroyer = destroyed.get_future();
    ASSERT_EQ(get(caller), get(destroyer)) << "round " << round;
  }
  EXPECT_TRUE(reaches_nodes(1));
}

}  // namespace
}  // namespace zklock::testing
