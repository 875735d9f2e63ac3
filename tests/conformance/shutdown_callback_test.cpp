// SPDX-License-Identifier: Apache-2.0
// Closing and destroying a client in its own callbacks.
#include <atomic>
#include <future>
#include <stop_token>

#include <gtest/gtest.h>

#include "conformance/lock_test.h"
#include "conformance/shutdown_fixture.h"

namespace zklock::testing {
namespace {

// The first close() waits for the listener, so a close() in the listener must not wait for the
// first.
TEST_F(Shutdown, CloseInListenerWhileClosing_ReturnsAtOnce) {
  std::promise<void> entered;
  std::atomic<bool> closed{false};
  std::atomic<bool> at_once{false};
  std::atomic<bool> received{false};
  ClientOptions with_executor = options();
  with_executor.executor = [](const std::function<void()>& task) { task(); };
  const auto client = connect(with_executor);
  ReentrantMutex mutex(*client, "/listened", {.listener = [&](const LockEvent&) {
    if (received.exchange(true)) return;
    entered.set_value();
    const auto is_closing = [&] {
      return error_of([&] { return mutex.try_lock(); }) == Errc::closed;
    };
    EXPECT_TRUE(eventually(is_closing, kTestTimeout));
    client->close();
    at_once = !closed;
  }});
  Hold hold = mutex.acquire();
  auto has_entered = entered.get_future();
  get(has_entered);
  client->close();
  closed = true;
  EXPECT_TRUE(at_once);
  hold.release();
}

TEST_F(Shutdown, CloseInHandler_ClosesAndLosesHold) {
  std::promise<void> closed;
  mutex_.async_acquire({}, [&](Hold hold, const std::exception_ptr&) {
    client_->close();
    EXPECT_EQ(hold.state(), HoldState::lost);
    closed.set_value();
  });
  auto has_closed = closed.get_future();
  get(has_closed);
  EXPECT_TRUE(becomes_empty());
  EXPECT_EQ(error_of([&] { mutex_.lock(); }), Errc::closed);
}

TEST_F(Shutdown, ClientDestroyedInHandler_LeavesNoNode) {
  std::promise<void> destroyed;
  mutex_.async_acquire({}, [&](const Hold&, const std::exception_ptr&) {
    client_.reset();
    destroyed.set_value();
  });
  auto has_destroyed = destroyed.get_future();
  get(has_destroyed);
  EXPECT_TRUE(becomes_empty());
}

TEST_F(Shutdown, CloseInListenerOrLossCallback_Closes) {
  std::promise<void> closed;
  auto has_closed = closed.get_future();
  std::atomic<int> calls{0};
  const auto subscription = client_->add_listener([&](ConnectionState) {
    if (calls++ > 0) return;
    client_->close();
    closed.set_value();
  });
  end_session(*client_);
  get(has_closed);
  EXPECT_EQ(error_of([&] { mutex_.lock(); }), Errc::closed);

  const Hold hold = others_mutex_.acquire();
  std::promise<void> closed_by_loss;
  auto has_closed_by_loss = closed_by_loss.get_future();
  const std::stop_callback on_loss(hold.loss_token(), [&] {
    other_->close();
    closed_by_loss.set_value();
  });
  end_session(*other_);
  get(has_closed_by_loss);
  EXPECT_EQ(error_of([&] { others_mutex_.lock(); }), Errc::closed);
}

// The close() runs the callback, which calls close() again.
TEST_F(Shutdown, CloseInLossCallbackOfClose_Returns) {
  std::promise<void> closed_by_loss;
  const Hold hold = mutex_.acquire();
  const std::stop_callback on_loss(hold.loss_token(), [&] {
    client_->close();
    closed_by_loss.set_value();
  });
  auto closing = in_thread([this] { client_->close(); });
  get(closing);
  auto has_closed = closed_by_loss.get_future();
  get(has_closed);
  EXPECT_EQ(hold.state(), HoldState::lost);
  EXPECT_EQ(error_of([&] { mutex_.lock(); }), Errc::closed);
  EXPECT_TRUE(becomes_empty());
}

TEST_F(Shutdown, CloseInLossCallbackDuringOtherClose_Returns) {
  constexpr int kRounds = 10;
  for (int round = 0; round < kRounds; ++round) {
    const auto client = connect();
    ReentrantMutex mutex(*client, kPath);
    const Hold hold = mutex.acquire();
    std::atomic<bool> notified{false};
    std::promise<void> closed_by_loss;
    const std::stop_callback on_loss(hold.loss_token(), [&] {
      notified = true;
      client->close();
      closed_by_loss.set_value();
    });
    // This thread closes when the callback is about to. The main thread ends the session in even
    // rounds, and closes in odd rounds.
    const bool expire = round % 2 == 0;
    auto behind = in_thread([&] {
      EXPECT_TRUE(eventually([&] { return notified.load(); }, kTestTimeout, 0ms));
      client->close();
    });
    if (expire) {
      end_session(*client);
    } else {
      client->close();
    }
    get(behind);
    auto has_closed = closed_by_loss.get_future();
    get(has_closed);
    EXPECT_EQ(hold.state(), HoldState::lost);
    EXPECT_FALSE(client->is_connected());
  }
  EXPECT_TRUE(becomes_empty());
}

}  // namespace
}  // namespace zklock::testing
