// SPDX-License-Identifier: Apache-2.0
// Listeners and their notifications, on a dispatcher that runs a task when the test says so.
#include <atomic>
#include <chrono>
#include <cstddef>
#include <deque>
#include <functional>
#include <future>
#include <memory>
#include <numeric>
#include <optional>
#include <stdexcept>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "zklock/client/threads/callback_threads.h"
#include "zklock/engine/callback/listeners.h"

namespace zklock::detail {
namespace {

using Received = std::vector<int>;

class StepByStep : public client::Dispatcher {
 public:
  bool post(std::function<void()> task) override {
    if (refuses) return false;
    tasks.push_back(std::move(task));
    return true;
  }
  void step() {
    const auto task = std::move(tasks.front());
    tasks.pop_front();
    task();
  }
  void run() {
    while (!tasks.empty()) step();
  }
  std::deque<std::function<void()>> tasks;
  bool refuses = false;
};

class ListenersTest : public ::testing::Test {
 protected:
  std::function<void(const int&)> listener() {
    return [this](const int& value) { received_.push_back(value); };
  }
  const std::shared_ptr<StepByStep> dispatcher_ = std::make_shared<StepByStep>();
  Received received_;
};

TEST_F(ListenersTest, NewestOnly_DeliveredIfItChanged) {
  Listeners<int, Delivery::newest> listeners(dispatcher_);
  const Subscription subscription = listeners.add(listener());
  for (const int value : {1, 2, 3}) listeners.notify(value);
  dispatcher_->run();
  EXPECT_EQ(received_, (Received{3}));
  listeners.notify(4);
  listeners.notify(3);
  dispatcher_->run();
  EXPECT_EQ(received_, (Received{3})) << "this state was reported before";
  listeners.notify(3);
  listeners.notify(4);
  dispatcher_->run();
  EXPECT_EQ(received_, (Received{3, 4}));
}

TEST_F(ListenersTest, ListenerThrows_NextEventIsDelivered) {
  Listeners<int> listeners(dispatcher_);
  const Subscription subscription = listeners.add([this](const int& value) {
    received_.push_back(value);
    if (value == 1) throw std::runtime_error("wild");
  });
  listeners.notify(1);
  listeners.notify(2);
  EXPECT_THROW(dispatcher_->step(), std::runtime_error);
  dispatcher_->run();
  EXPECT_EQ(received_, (Received{1, 2}));
  listeners.wait();  // the call has ended
}

// A latch keeps the end of a leadership whose start was notified, and no other state.
TEST_F(ListenersTest, SilencedWithAFilter_DeliversTheRetained) {
  const auto follows = [](const std::optional<int>& delivered, const int& next) {
    return delivered && *delivered + 1 == next;
  };
  for (const bool is_delivered : {false, true}) {
    received_.clear();
    Listeners<int> listeners(dispatcher_);
    const Subscription subscription = listeners.add(listener());
    listeners.notify(1);
    if (is_delivered) dispatcher_->run();
    listeners.notify(2);
    listeners.notify(3);
    listeners.stop(follows);
    listeners.stop(follows);
    listeners.notify(4);
    listeners.forget();
    dispatcher_->run();
    EXPECT_EQ(received_, is_delivered ? (Received{1, 2}) : Received{});
  }
}

TEST_F(ListenersTest, SerialListenerFinishedFromItsCall_DropsTheRest) {
  std::shared_ptr<SerialListener<int>> finished;
  const auto listener = std::make_shared<SerialListener<int>>(
      [&](const int& value) {
        received_.push_back(value);
        finished->finish();
      },
      dispatcher_);
  finished = listener;
  listener->notify(1);
  listener->notify(2);
  dispatcher_->run();
  EXPECT_EQ(received_, (Received{1}));
}

TEST_F(ListenersTest, CallInProgress_WaitReturnsAfterIt) {
  Listeners<int> listeners(dispatcher_);
  std::promise<void> entered;
  std::promise<void> leave;
  std::atomic<bool> left = false;
  const Subscription subscription = listeners.add([&](const int& /*value*/) {
    entered.set_value();
    leave.get_future().wait();
    left = true;
  });
  listeners.notify(1);
  const auto delivered = std::async(std::launch::async, [&] { dispatcher_->run(); });
  entered.get_future().wait();
  auto waited = std::async(std::launch::async, [&] {
    listeners.wait();
    return left.load();
  });
  // A wait() that returns too early does so before this ends.
  EXPECT_EQ(waited.wait_for(std::chrono::milliseconds(50)), std::future_status::timeout);
  leave.set_value();
  EXPECT_TRUE(waited.get());
}

TEST_F(ListenersTest, TaskRunsDuringFinish_CallsDoNotOverlap) {
  Listeners<int> listeners(dispatcher_);
  std::promise<void> entered;
  std::promise<void> leave;
  const Subscription subscription = listeners.add([&](const int& value) {
    if (value == 1) {
      entered.set_value();
      leave.get_future().wait();
    }
    received_.push_back(value);
  });
  listeners.notify(1);
  listeners.notify(2);
  const auto finished = std::async(std::launch::async, [&] { listeners.finish([] {}); });
  entered.get_future().wait();
  dispatcher_->run();
  EXPECT_EQ(received_, Received{}) << "the first call has not returned";
  leave.set_value();
  finished.wait();
  EXPECT_EQ(received_, (Received{1, 2}));
}

TEST_F(ListenersTest, ListenerThrowsInFinish_HandlerIsCalled) {
  Listeners<int> listeners(dispatcher_);
  const Subscription subscription = listeners.add([this](const int& value) {
    received_.push_back(value);
    if (value == 2) throw std::runtime_error("wild");
  });
  listeners.notify(1);
  dispatcher_->run();
  listeners.notify(2);
  listeners.stop([](const std::optional<int>&, const int&) { return true; });
  int failures = 0;
  listeners.finish([&failures] { ++failures; });
  EXPECT_EQ(failures, 1);
  dispatcher_->run();
  EXPECT_EQ(received_, (Received{1, 2}));
}

// An executor drops tasks for a while.
TEST_F(ListenersTest, PostRefused_DeliveredWithTheNext) {
  Listeners<int> listeners(dispatcher_);
  const Subscription subscription = listeners.add(listener());
  dispatcher_->refuses = true;
  listeners.notify(1);
  listeners.notify(2);
  dispatcher_->refuses = false;
  dispatcher_->run();
  EXPECT_EQ(received_, Received{});
  listeners.notify(3);
  dispatcher_->run();
  EXPECT_EQ(received_, (Received{1, 2, 3}));
}

TEST_F(ListenersTest, TaskDropped_DeliveredWithTheNext) {
  Listeners<int> listeners(dispatcher_);
  const Subscription subscription = listeners.add(listener());
  listeners.notify(1);
  dispatcher_->tasks.clear();
  listeners.notify(2);
  dispatcher_->run();
  EXPECT_EQ(received_, (Received{1, 2}));
}

TEST_F(ListenersTest, SeveralEvents_OneTaskAtATime) {
  Listeners<int> listeners(dispatcher_);
  const Subscription subscription = listeners.add(listener(), 7);
  for (const int value : {1, 1, 2}) listeners.notify(value);
  for (std::size_t delivered = 0; delivered < 4; ++delivered) {
    EXPECT_EQ(received_.size(), delivered);
    ASSERT_EQ(dispatcher_->tasks.size(), 1U) << "other listeners get their turn";
    dispatcher_->step();
  }
  EXPECT_TRUE(dispatcher_->tasks.empty());
  EXPECT_EQ(received_, (Received{7, 1, 1, 2}));
}

TEST_F(ListenersTest, ManyThreads_KeepOrderAndExclusion) {
  const auto threads = std::make_shared<client::CallbackThreads>(nullptr);
  Listeners<int> listeners(threads);
  std::atomic<int> inside = 0;
  const Subscription subscription = listeners.add([&](const int& value) {
    EXPECT_EQ(++inside, 1);
    received_.push_back(value);  // unguarded: the calls exclude each other
    --inside;
  });
  Received wanted(1000);
  std::iota(wanted.begin(), wanted.end(), 0);
  for (const int value : wanted) listeners.notify(value);
  EXPECT_TRUE(threads->drain_for(std::chrono::minutes(1))) << "a drain delivers all events";
  EXPECT_EQ(received_, wanted);
}

TEST_F(ListenersTest, Removed_NotCalledAndDestroyed) {
  const auto owned = std::make_shared<int>();
  Listeners<int> listeners(dispatcher_);
  Subscription subscription =
      listeners.add([this, owned](const int& value) { received_.push_back(value); });
  listeners.notify(1);
  EXPECT_EQ(owned.use_count(), 2);
  subscription.cancel();
  EXPECT_EQ(owned.use_count(), 1);
  listeners.notify(2);
  dispatcher_->run();
  EXPECT_TRUE(received_.empty());
}

}  // namespace
}  // namespace zklock::detail
