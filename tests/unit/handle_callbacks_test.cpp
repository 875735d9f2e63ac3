// SPDX-License-Identifier: Apache-2.0
#include "zklock/client/zookeeper/quirks/handle_callbacks.h"

#include <atomic>
#include <chrono>
#include <functional>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include <gtest/gtest.h>

#include "fact.h"
#include "zklock/testing/servers/wait_for.h"

namespace zklock::client {
namespace {

using namespace std::chrono_literals;
using testing::Fact;

class HandleCallbacksTest : public ::testing::Test, protected HandleListener {
 protected:
  /// Calls what a thread of the C client would call.
  static void on_thread(const std::function<void()>& body) { std::thread(body).join(); }
  void event() {
    HandleCallbacks::on_event(nullptr, ZOO_SESSION_EVENT, ZOO_CONNECTED_STATE, nullptr,
                              &callbacks_);
  }
  static void completion(PendingId id) {
    HandleCallbacks::on_void(ZOK, HandleCallbacks::as_pointer(id));
  }

  void on_session_event(int state) override {
    EXPECT_TRUE(runs_here());
    states_.push_back(state);
    if (during_event_) during_event_();
  }
  void on_watch_event(int /*type*/, const std::string& path) override { paths_.push_back(path); }
  void completed(PendingId id, const Completion& completion) override {
    EXPECT_EQ(completion.code, ZOK);
    ids_.push_back(id);
  }

  HandleCallbacks callbacks_{*this};
  std::function<void()> during_event_;
  std::vector<int> states_;
  std::vector<std::string> paths_;
  std::vector<PendingId> ids_;
};

TEST_F(HandleCallbacksTest, ThreadOfEvents_CompletionsArePassed) {
  on_thread([this] {
    event();
    EXPECT_FALSE(runs_here());
    completion(7);
    HandleCallbacks::on_event(nullptr, ZOO_CHANGED_EVENT, 0, "/n", &callbacks_);
  });
  EXPECT_EQ(states_, std::vector<int>{ZOO_CONNECTED_STATE});
  EXPECT_EQ(paths_, std::vector<std::string>{"/n"});
  EXPECT_EQ(ids_, std::vector<PendingId>{7});
}

// zookeeper_close() calls both on its own thread.
TEST_F(HandleCallbacksTest, OtherOrClosingThreadOrShut_CompletionIsIgnored) {
  on_thread([this] { event(); });
  on_thread([] { completion(7); });
  callbacks_.begin_close();
  on_thread([this] {
    event();
    completion(7);
  });
  EXPECT_EQ(states_.size(), 2U);
  on_thread([this] {
    callbacks_.shut();
    event();
    completion(7);
  });
  EXPECT_EQ(states_.size(), 2U);
  EXPECT_TRUE(ids_.empty());
}

TEST_F(HandleCallbacksTest, Shut_BlocksUntilTheCallHasEnded) {
  const Fact<> began;
  std::atomic<bool> ended{false};
  during_event_ = [&] {
    began.is_known();
    std::this_thread::sleep_for(20ms);
    ended = true;
  };
  std::thread events([this] { event(); });
  began.get();
  callbacks_.shut();
  EXPECT_TRUE(ended);
  events.join();
}

TEST_F(HandleCallbacksTest, CloseHangs_GateIsShutAndCloseGoesOn) {
  const Fact<> mended;
  const auto user = std::make_shared<int>();
  std::shared_ptr<const void> handle(new int, [mended](int* number) {
    mended.get();
    delete number;
  });
  const auto hanging = close_within(0s, std::move(handle), callbacks_, user);
  EXPECT_FALSE(hanging.expired());
  EXPECT_EQ(user.use_count(), 2);
  on_thread([this] { event(); });
  EXPECT_TRUE(states_.empty());
  mended.is_known();
  EXPECT_TRUE(testing::eventually([&] { return hanging.expired() && user.use_count() == 1; }));
}

}  // namespace
}  // namespace zklock::client
