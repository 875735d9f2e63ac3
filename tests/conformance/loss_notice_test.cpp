// SPDX-License-Identifier: Apache-2.0
// A loss is told although every thread that runs handlers is busy.
#include <atomic>
#include <functional>
#include <memory>
#include <mutex>
#include <stop_token>
#include <string>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "conformance/lock_test.h"
#include "conformance/single_thread.h"
#include "support/expire_session.h"

namespace zklock::testing {
namespace {

constexpr int kHandlers = 12;

// Handlers that do not return before they are told that their hold is lost. It outlives the client
// whose handlers they are.
class BusyHandlers {
 public:
  // When it returns all locks are granted, although few of the handlers may run yet.
  void start(Client& client, int count) {
    for (int i = 0; i < count; ++i) {
      mutexes_.push_back(std::make_unique<ReentrantMutex>(client, "/busy-" + std::to_string(i)));
      mutexes_.back()->async_acquire({.owner = Owner::unique()},
                                     [this](const Hold& hold, const std::exception_ptr& error) {
                                       if (error == nullptr) wait_for_loss_of(hold);
                                     });
    }
    // What a session asks for is answered in order: a grant asked for later comes later.
    ReentrantMutex last(client, "/asked-for-last");
    const std::lock_guard granted(last);
  }

  int entered() const { return entered_; }
  int told() const { return told_; }
  bool all_are_told() const {
    return eventually([this] { return told() == static_cast<int>(mutexes_.size()); }, kPatience);
  }

 private:
  void wait_for_loss_of(const Hold& hold) {
    const std::stop_token lost = hold.lost();
    ++entered_;
    if (eventually([&] { return lost.stop_requested(); }, kPatience)) ++told_;
  }
  std::atomic<int> entered_{0};
  std::atomic<int> told_{0};
  std::vector<std::unique_ptr<ReentrantMutex>> mutexes_;
};

// A hold that no handler has, and whoever listens for its loss.
struct Listened {
  explicit Listened(ReentrantMutex& mutex)
      : hold_(mutex.acquire({.owner = Owner::unique()})),
        on_loss_(hold_.lost(), [this] { ++fired_; }) {}
  bool is_told() const {
    return eventually([this] { return fired_ == 1; }, kPatience);
  }
  Hold hold_;
  std::atomic<int> fired_{0};
  std::stop_callback<std::function<void()>> on_loss_;
};

class LossNotice : public LockTest {
 protected:
  // Handlers run, but not one of them has come to its end.
  static bool become_busy(const BusyHandlers& handlers) {
    return eventually([&] { return handlers.entered() > 0; }, kPatience) && handlers.told() == 0;
  }
};

TEST_F(LossNotice, OfAnEndedSessionComesWhileAllHandlersBlock) {
  BusyHandlers handlers;
  const auto client = connect();
  ReentrantMutex mutex(*client, kPath);
  const Listened listened(mutex);
  handlers.start(*client, kHandlers);
  ASSERT_TRUE(become_busy(handlers));
  expire_session(chroot_.hosts(), client->session_id());
  EXPECT_TRUE(listened.is_told());
  EXPECT_TRUE(handlers.all_are_told());
}

TEST_F(LossNotice, ComesWhileTheUsersOnlyThreadBlocks) {
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
  EXPECT_TRUE(listened.is_told());
  EXPECT_TRUE(handlers.all_are_told());
}

TEST_F(LossNotice, OfACloseComesWhileAllHandlersBlock) {
  BusyHandlers handlers;
  const auto client = connect();
  ReentrantMutex mutex(*client, kPath);
  const Listened listened(mutex);
  handlers.start(*client, kHandlers);
  ASSERT_TRUE(become_busy(handlers));
  client->close();
  EXPECT_TRUE(listened.is_told());
  EXPECT_TRUE(handlers.all_are_told());
}

class LossNoticeOfAFrozenServer : public OwnServerTest {};

TEST_F(LossNoticeOfAFrozenServer, ComesWhileAllHandlersBlock) {
  BusyHandlers handlers;
  const auto client = connect();
  ReentrantMutex mutex(*client, kPath);
  const Listened listened(mutex);
  handlers.start(*client, kHandlers);
  ASSERT_TRUE(eventually([&] { return handlers.entered() > 0; }, kPatience));
  EXPECT_EQ(handlers.told(), 0);
  server_.pause();  // nothing tells that the session has ended: the leases run out
  EXPECT_TRUE(listened.is_told());
  EXPECT_TRUE(handlers.all_are_told());
  server_.resume();
}

}  // namespace
}  // namespace zklock::testing
