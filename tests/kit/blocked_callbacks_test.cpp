// SPDX-License-Identifier: Apache-2.0
// Callbacks that block all threads for them: the others wait, the log says so, and the metrics
// count them.
#include <atomic>
#include <chrono>
#include <functional>
#include <future>
#include <memory>
#include <mutex>
#include <stop_token>
#include <string>
#include <string_view>
#include <vector>

#include <gtest/gtest.h>

#include "zklock/testing/fake_ensemble.h"
#include "zklock/zklock.h"

namespace zklock::testing {
namespace {

using namespace std::chrono_literals;

const std::string kAdvice = "A callback must not wait for another; see the stacks of these threads";

/// Clients on virtual time, with callbacks that block until unblock().
class BlockedCallbacksTest : public ::testing::Test {
 protected:
  ~BlockedCallbacksTest() override { unblock(); }
  void unblock() {
    if (!is_over_.exchange(true)) over_.set_value();
  }
  void block() {
    std::unique_lock lock(mutex_);
    ++begun_;
    const auto over = over_future_;
    lock.unlock();
    over.wait();
  }
  void block_again() {
    const std::scoped_lock guard(mutex_);
    over_ = {};
    over_future_ = over_.get_future().share();
    is_over_ = false;
  }

  void connect(Executor executor = {}) {
    ClientOptions options;
    options.executor = std::move(executor);
    options.log_sink = [this](LogLevel level, std::string_view line) {
      const std::scoped_lock guard(mutex_);
      if (level >= LogLevel::warning) lines_.emplace_back(line);
    };
    client_ = ensemble_.client(std::move(options));
  }
  Mutex& make_mutex() {
    const std::string path = "/locks/" + std::to_string(mutexes_.size());
    return *mutexes_.emplace_back(std::make_unique<Mutex>(*client_, path));
  }
  /// Returns the lines about blocked callbacks.
  std::vector<std::string> warnings() {
    const std::scoped_lock guard(mutex_);
    auto found = lines_;
    std::erase_if(found, [](const auto& line) { return line.find("block") == std::string::npos; });
    return found;
  }

  std::promise<void> over_;
  std::shared_future<void> over_future_ = over_.get_future().share();
  std::atomic<bool> is_over_ = false;
  std::atomic<int> begun_ = 0;
  std::mutex mutex_;
  std::vector<std::string> lines_;

  FakeEnsemble ensemble_;
  std::unique_ptr<Client> client_;
  std::vector<std::unique_ptr<Mutex>> mutexes_;
};

TEST_F(BlockedCallbacksTest, NinthHandler_IsReportedAndCounted) {
  connect();
  for (int i = 0; i < 9; ++i) {
    make_mutex().async_acquire([this](const Hold& /*hold*/, const auto& /*error*/) { block(); });
  }
  ensemble_.settle();
  EXPECT_EQ(begun_, 8);
  EXPECT_EQ(client_->metrics().queued_callbacks, 1U);
  ensemble_.advance(5s - 1ns);
  EXPECT_TRUE(warnings().empty());
  ensemble_.advance(1ns);
  EXPECT_EQ(warnings(),
            std::vector<std::string>{
                "zklock: 8 callbacks block all threads for handlers (zklock-callback), and 1 more "
                "waits, the longest for 5 s. " +
                kAdvice});
  EXPECT_EQ(client_->metrics().longest_callback_wait, 5s);
  ensemble_.advance(5s);
  EXPECT_EQ(warnings().size(), 2U);
  unblock();
  ensemble_.settle();
  EXPECT_EQ(begun_, 9);
  EXPECT_EQ(client_->metrics().queued_callbacks, 0U);
  EXPECT_EQ(client_->metrics().longest_callback_wait, 0s);
  ensemble_.advance(1h);
  EXPECT_EQ(warnings().size(), 2U);
}

TEST_F(BlockedCallbacksTest, EightHandlers_AreNotReported) {
  connect();
  for (int i = 0; i < 8; ++i) {
    make_mutex().async_acquire([this](const Hold& /*hold*/, const auto& /*error*/) { block(); });
  }
  ensemble_.advance(1min);
  EXPECT_EQ(client_->metrics().queued_callbacks, 0U);
  EXPECT_TRUE(warnings().empty());
}

TEST_F(BlockedCallbacksTest, LossCallbacks_AreReportedAndCounted) {
  connect();
  std::vector<Hold> holds;
  std::vector<std::unique_ptr<std::stop_callback<std::function<void()>>>> callbacks;
  for (int i = 0; i < 34; ++i) {
    holds.push_back(ensemble_.during([&] { return make_mutex().acquire(); }));
    callbacks.push_back(std::make_unique<std::stop_callback<std::function<void()>>>(
        holds.back().loss_token(), [this] { block(); }));
  }
  ensemble_.link(*client_).cut();
  EXPECT_TRUE(ensemble_.advance_until([&] { return begun_ == 32; }));
  ensemble_.advance(6s);
  EXPECT_EQ(client_->metrics().queued_callbacks, 2U);
  EXPECT_EQ(warnings(),
            std::vector<std::string>{"zklock: 32 callbacks block all threads for loss callbacks "
                                     "(zklock-loss), and 2 more wait, the longest for 5 s. " +
                                     kAdvice});
  unblock();
  ensemble_.settle();
  EXPECT_EQ(begun_, 34);
}

TEST_F(BlockedCallbacksTest, SecondBlockage_IsReportedAsEarlyAsTheFirst) {
  connect();
  for (int round = 1; round <= 2; ++round) {
    for (int i = 0; i < 9; ++i) {
      make_mutex().async_acquire([this](const Hold& /*hold*/, const auto& /*error*/) { block(); });
    }
    ensemble_.advance(5s);
    EXPECT_EQ(warnings().size(), static_cast<std::size_t>(4 * round - 3)) << "in round " << round;
    ensemble_.advance(40s);
    EXPECT_EQ(warnings().size(), static_cast<std::size_t>(4 * round)) << "after 5, 10, 20 and 40 s";
    unblock();
    ensemble_.advance(6s);
    block_again();
  }
}

TEST_F(BlockedCallbacksTest, ExecutorThatBlocks_IsNamed) {
  connect([this](const std::function<void()>& task) {
    block();
    task();
  });
  for (int i = 0; i < 2; ++i) {
    make_mutex().async_acquire([](const Hold& /*hold*/, const auto& /*error*/) {});
  }
  ensemble_.advance(6s);
  EXPECT_EQ(warnings(), std::vector<std::string>{
                            "zklock: 1 callback blocks ClientOptions::executor, and 1 more waits, "
                            "the longest for 5 s. " +
                            kAdvice});
}

}  // namespace
}  // namespace zklock::testing
