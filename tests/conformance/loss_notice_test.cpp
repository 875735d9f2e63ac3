// SPDX-License-Identifier: Apache-2.0
// Losses are reported even if all callback threads are busy.
#include <atomic>
#include <cstddef>
#include <functional>
#include <latch>
#include <list>
#include <memory>
#include <mutex>
#include <stop_token>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "conformance/lock_test.h"
#include "conformance/single_thread.h"
#include "zklock/testing/servers/expire_session.h"

namespace zklock::testing {
namespace {

constexpr int kHandlers = 12;

// Handlers that block until their hold is lost. REQUIRES: outlives the client.
class BusyHandlers {
 public:
  // Returns when all locks are granted; some handlers may not have started yet.
  void start(Client& client, int count) {
    for (int i = 0; i < count; ++i) {
      mutexes_.push_back(std::make_unique<ReentrantMutex>(client, "/busy-" + std::to_string(i)));
      mutexes_.back()->async_acquire({.owner = Owner::unique()},
                                     [this](const Hold& hold, const std::exception_ptr& error) {
                                       if (error == nullptr) wait_for_loss_of(hold);
                                     });
    }
    // Requests of one session are answered in order, so this last grant comes after the others.
    ReentrantMutex last(client, "/last");
    const std::lock_guard granted(last);
  }

  int entered() const { return entered_; }
  int notified() const { return notified_; }
  bool all_are_notified() const {
    return eventually([this] { return notified() == static_cast<int>(mutexes_.size()); },
                      kTestTimeout);
  }

 private:
  void wait_for_loss_of(const Hold& hold) {
    const std::stop_token lost = hold.loss_token();
    ++entered_;
    if (eventually([&] { return lost.stop_requested(); }, kTestTimeout)) ++notified_;
  }
  std::atomic<int> entered_{0};
  std::atomic<int> notified_{0};
  std::vector<std::unique_ptr<ReentrantMutex>> mutexes_;
};

// A hold outside the handlers, and a callback that counts its loss.
struct Listened {
  explicit Listened(ReentrantMutex& mutex)
      : hold_(mutex.acquire({.owner = Owner::unique()})),
        on_loss_(hold_.loss_token(), [this] { ++fired_; }) {}
  bool is_notified() const {
    return eventually([this] { return fired_ == 1; }, kTestTimeout);
  }
  Hold hold_;
  std::atomic<int> fired_{0};
  std::stop_callback<std::function<void()>> on_loss_;
};

class LossNotice : public LockTest {
 protected:
  // Waits until a handler has started. Returns whether that is so and no handler has returned.
  static bool become_busy(const BusyHandlers& handlers) {
    return eventually([&] { return handlers.entered() > 0; }, kTestTimeout) &&
           handlers.notified() == 0;
  }
};

TEST_F(LossNotice, SessionEndsWhileHandlersBlock_LossIsReported) {
  BusyHandlers handlers;
  const auto client = connect();
  ReentrantMutex mutex(*client, kPath);
  const Listened listened(mutex);
  handlers.start(*client, kHandlers);
  ASSERT_TRUE(become_busy(handlers));
  expire_session(chroot_.hosts(), client->session_id());
  EXPECT_TRUE(listened.is_notified());
  EXPECT_TRUE(handlers.all_are_notified());
}

TEST_F(LossNotice, ThirtyLossCallbacksBlock_NextLossIsReported) {
  constexpr int kBlocking = 30;
  const auto client = connect();
  std::latch go_on(1);
  std::atomic<int> blocked{0};
  std::vector<Hold> holds;
  std::list<std::stop_callback<std::function<void()>>> callbacks;
  for (int i = 0; i < kBlocking; ++i) {
    holds.push_back(ReentrantMutex(*client, "/blocks-" + std::to_string(i)).acquire());
    callbacks.emplace_back(holds.back().loss_token(), [&] {
      ++blocked;
      go_on.wait();
    });
  }
  ReentrantMutex mutex(*client, kPath);
  const Listened listened(mutex);  // notified last
  expire_session(chroot_.hosts(), client->session_id());
  EXPECT_TRUE(listened.is_notified());
  EXPECT_TRUE(eventually([&] { return blocked == kBlocking; }, kTestTimeout));
  go_on.count_down();
}

TEST_F(LossNotice, OnlyExecutorThreadBlocks_LossIsReported) {
  SingleThread executor;
  BusyHandlers handlers;
  ClientOptions with_executor = options();
  with_executor.executor = [&](std::function<void()> task) { executor(std::move(task)); };
  const auto client = connect(with_executor);
  ReentrantMutex mutex(*client, kPath);
  const Listened listened(mutex);
  handlers.start(*client, 1);
  ASSERT_TRUE(become_busy(handlers));
  expire_session(chroot_.hosts(), client->session_id());
  EXPECT_TRUE(listened.is_notified());
  EXPECT_TRUE(handlers.all_are_notified());
}

TEST_F(LossNotice, ClientIsClosedWhileHandlersBlock_LossIsReported) {
  BusyHandlers handlers;
  const auto client = connect();
  ReentrantMutex mutex(*client, kPath);
  const Listened listened(mutex);
  handlers.start(*client, kHandlers);
  ASSERT_TRUE(become_busy(handlers));
  client->close();
  EXPECT_TRUE(listened.is_notified());
  EXPECT_TRUE(handlers.all_are_notified());
}

class LossNoticeOfAFrozenServer : public OwnServerTest {};

TEST_F(LossNoticeOfAFrozenServer, LeaseExpiresWhileHandlersBlock_LossIsReported) {
  BusyHandlers handlers;
  const auto client = connect();
  ReentrantMutex mutex(*client, kPath);
  const Listened listened(mutex);
  handlers.start(*client, kHandlers);
  ASSERT_TRUE(eventually([&] { return handlers.entered() > 0; }, kTestTimeout));
  EXPECT_EQ(handlers.notified(), 0);
  server_.pause();  // no event reports the session's end; the leases expire
  EXPECT_TRUE(listened.is_notified());
  EXPECT_TRUE(handlers.all_are_notified());
  server_.resume();
}

// At this level the C client logs each heartbeat, on the thread of the timers.
TEST_F(LossNoticeOfAFrozenServer, SinkOfTheLogBlocks_LossIsReported) {
  const auto go_on = std::make_shared<std::latch>(1);
  const auto blocked = std::make_shared<std::atomic<bool>>(false);
  ClientOptions logged = options();
  logged.log_level = LogLevel::debug;
  logged.log_sink = [go_on, blocked](LogLevel, std::string_view) {
    *blocked = true;
    go_on->wait();
  };
  const auto client = connect(logged);
  ReentrantMutex mutex(*client, kPath);
  const Listened listened(mutex);
  EXPECT_TRUE(eventually([&] { return blocked->load(); }, kTestTimeout));
  server_.pause();
  EXPECT_TRUE(listened.is_notified());
  server_.resume();
  go_on->count_down();
}

}  // namespace
}  // namespace zklock::testing
