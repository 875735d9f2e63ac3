// SPDX-License-Identifier: Apache-2.0
// Closing a client: the end of its calls, waiters and holds.
#include <atomic>
#include <future>
#include <memory>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "conformance/lock_test.h"
#include "conformance/shutdown_fixture.h"
#include "conformance/single_thread.h"

namespace zklock::testing {
namespace {

// suite/basics_test.cpp has the calls that acquire.
TEST_F(Shutdown, ClosedTwice_QueriesThrowClosed) {
  client_->close();
  client_->close();
  EXPECT_EQ(error_of([&] { return mutex_.queue_position(); }), Errc::closed);
  EXPECT_EQ(error_of([&] { return client_->wait_until_connected(); }), Errc::closed);
  EXPECT_FALSE(client_->is_connected());
  EXPECT_TRUE(client_->flush());
  EXPECT_EQ(mutex_.hold_count(), 0);
}

TEST_F(Shutdown, Close_WakesEveryWaiter) {
  const Hold others_hold = others_mutex_.acquire();
  std::vector<std::future<Hold>> waiting;
  for (int i = 0; i < 3; ++i)
    waiting.push_back(in_thread([this] { return mutex_.acquire({.deadline = kTestTimeout}); }));
  for (int i = 0; i < 3; ++i) waiting.push_back(mutex_.async_acquire());
  auto locking = in_thread([this] { mutex_.lock(); });
  auto timed = in_thread([this] { return mutex_.try_lock_for(kTestTimeout); });
  std::promise<std::exception_ptr> handled;
  mutex_.async_acquire({}, [&](const Hold& hold, std::exception_ptr error) {
    EXPECT_FALSE(static_cast<bool>(hold));
    handled.set_value(std::move(error));
  });
  ASSERT_TRUE(reaches_nodes(10));
  auto closing = in_thread([this] { client_->close(); });
  for (auto& future : waiting) EXPECT_EQ(error_of([&] { return get(future); }), Errc::closed);
  EXPECT_EQ(error_of([&] { get(locking); }), Errc::closed);
  EXPECT_EQ(error_of([&] { return get(timed); }), Errc::closed);
  auto error = handled.get_future();
  EXPECT_EQ(error_of([&] { std::rethrow_exception(get(error)); }), Errc::closed);
  get(closing);
  EXPECT_TRUE(reaches_nodes(1));
  EXPECT_EQ(others_hold.state(), HoldState::held);
}

TEST_F(Shutdown, ClientDestroyedWhileHeld_HoldIsLost) {
  Hold hold = mutex_.acquire();
  auto waiting = in_thread([this] { return mutex_.acquire({.deadline = kTestTimeout}); });
  ASSERT_TRUE(reaches_nodes(2));
  client_.reset();
  EXPECT_EQ(error_of([&] { return get(waiting); }), Errc::closed);
  EXPECT_EQ(hold.state(), HoldState::lost);
  EXPECT_TRUE(hold.loss_token().stop_requested());
  EXPECT_EQ(error_of([&] { mutex_.lock(); }), Errc::closed);
  EXPECT_TRUE(static_cast<bool>(others_mutex_.acquire({.deadline = kTestTimeout})));
  hold.release();
}

// The executor and the objects that it refers to may be destroyed directly after the client.
TEST_F(Shutdown, CloseReturned_ExecutorIsNoLongerCalled) {
  SingleThread single;
  std::promise<void> entered;
  std::atomic<bool> armed{false};
  std::atomic<bool> returned{false};
  std::atomic<int> inside{0};
  ClientOptions with_executor = options();
  with_executor.executor = [&](std::function<void()> task) {
    ++inside;
    if (armed.exchange(false)) {
      entered.set_value();
      EXPECT_FALSE(eventually([&] { return returned.load(); }, 1s)) << "close() must wait for this";
    }
    single(std::move(task));
    --inside;
  };
  auto client = connect(with_executor);
  ReentrantMutex mutex(*client, "/listened", {.listener = [](const LockEvent&) {}});
  ASSERT_TRUE(eventually([&] { return inside == 0; }, kTestTimeout));
  armed = true;
  Hold hold = mutex.acquire();  // the listener is notified of this grant
  auto has_entered = entered.get_future();
  get(has_entered);
  client->close();
  EXPECT_EQ(inside, 0);
  returned = true;
  EXPECT_TRUE(eventually([&] { return inside == 0; }, kTestTimeout));
  hold.release();
}

TEST_F(Shutdown, MutexDestroyed_WakesItsWaiters) {
  const Hold others_hold = others_mutex_.acquire();
  auto mutex = std::make_unique<ReentrantMutex>(*client_, kPath);
  auto waiting = in_thread([m = mutex.get()] { return m->acquire({.deadline = kTestTimeout}); });
  ASSERT_TRUE(reaches_nodes(2));
  auto future = mutex->async_acquire();
  ASSERT_TRUE(reaches_nodes(3));
  auto of_another_object = mutex_.async_acquire();
  ASSERT_TRUE(reaches_nodes(4));
  mutex.reset();
  EXPECT_EQ(error_of([&] { return get(waiting); }), Errc::closed);
  EXPECT_EQ(error_of([&] { return get(future); }), Errc::closed);
  EXPECT_TRUE(reaches_nodes(2));
  EXPECT_FALSE(is_ready(of_another_object));  // calls of other objects continue to wait
}

TEST_F(Shutdown, Close_WakesFlush) {
  TestServer server;
  server.start();
  ASSERT_TRUE(server.wait_until_serving());
  ClientOptions elsewhere = options();
  elsewhere.hosts = server.hosts();
  const auto client = connect(elsewhere);
  ReentrantMutex mutex(*client, kPath);
  Hold hold = mutex.acquire();
  server.pause();
  hold.release();
  EXPECT_FALSE(client->flush(Deadline::passed()));  // no server confirms
  auto flushing = in_thread([&] { return client->flush(); });
  auto closing = in_thread([&] { client->close(); });
  get(closing);
  static_cast<void>(get(flushing));
  EXPECT_TRUE(client->flush());
}

TEST_F(Shutdown, CloseWithoutServer_Ends) {
  TestServer server;
  server.start();
  ASSERT_TRUE(server.wait_until_serving());
  ClientOptions elsewhere = options();
  elsewhere.hosts = server.hosts();
  auto client = connect(elsewhere);
  Hold hold = ReentrantMutex(*client, kPath).acquire();
  server.pause();  // accepts everything and answers nothing
  client.reset();
  EXPECT_EQ(hold.state(), HoldState::lost);

  auto never_connected = std::make_unique<Client>(elsewhere);
  never_connected.reset();
}

}  // namespace
}  // namespace zklock::testing
