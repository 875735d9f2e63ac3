// SPDX-License-Identifier: Apache-2.0
// Losses are reported even if all callback threads are busy.
#include <atomic>
#include <deque>
#include <exception>
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

#include "conformance/gate.h"
#include "conformance/leader_fixture.h"
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

class LossNotice : public OwnServerTest {
 protected:
  // Checks that a loss is reported although handlers occupy every thread for callbacks.
  void expect_notice(const ClientOptions& options, int handlers,
                     const std::function<void(Client&)>& lose) {
    BusyHandlers busy;
    const auto client = connect(options);
    ReentrantMutex mutex(*client, kPath);
    const Listened listened(mutex);
    busy.start(*client, handlers);
    ASSERT_TRUE(eventually([&] { return busy.entered() > 0; }, kTestTimeout));
    ASSERT_EQ(busy.notified(), 0);
    lose(*client);
    EXPECT_TRUE(listened.is_notified());
    EXPECT_TRUE(busy.all_are_notified());
    server_.resume();
  }
};

TEST_F(LossNotice, HandlersBlock_EachLossIsReported) {
  const auto expire = [&](Client& client) { expire_session(chroot_.hosts(), client.session_id()); };
  expect_notice(options(), kHandlers, expire);
  expect_notice(options(), kHandlers, [](Client& client) { client.close(); });
  // No event reports the session's end; the leases expire.
  expect_notice(options(), kHandlers, [&](Client&) { server_.pause(); });
  SingleThread executor;
  ClientOptions with_executor = options();
  with_executor.executor = [&](std::function<void()> task) { executor(std::move(task)); };
  expect_notice(with_executor, 1, expire);
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

// At this level the C client logs each heartbeat, on the thread of the timers.
TEST_F(LossNotice, SinkOfTheLogBlocks_LossIsReported) {
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

class LeaderNotice : public LeaderTest<LockTest> {
 protected:
  LeadershipLog log_;
  const std::unique_ptr<Client> client_ = connect();
};

// Callbacks that block occupy every thread that reports losses.
TEST_F(LeaderNotice, LossCallbacksBlock_QueriesReportTheLossAtOnce) {
  Gate gate;
  const auto latch = leading_latch(*client_);
  const auto subscription = log_.listen_to(*latch);
  ASSERT_TRUE(log_.reaches(1));
  const Leadership first = latch->leadership();
  ReentrantMutex mutex(*client_, "/other");
  std::vector<Hold> holds;
  std::deque<std::stop_callback<std::function<void()>>> callbacks;
  const Gate::Opener opener(gate);
  for (int i = 0; i < 32; ++i) {
    ReentrantMutex elsewhere(*client_, "/other-" + std::to_string(i));
    holds.push_back(elsewhere.acquire({.owner = Owner::unique()}));
    callbacks.emplace_back(holds.back().loss_token(), [&gate] { gate.pass(); });
  }
  const TestServer* const server = SharedServer::server();
  if (server == nullptr) GTEST_SKIP() << "needs a server of this kit";
  for (const Hold& hold : holds) {
    ASSERT_TRUE(eventually([&] { return watched(*server, hold.node()); }, kTestTimeout));
    ASSERT_EQ(raw().delete_node(hold.node()), ZOK);
  }
  ASSERT_TRUE(gate.reached_by(32));
  ASSERT_TRUE(latch->has_leadership());
  expire(*client_);
  EXPECT_TRUE(eventually([&] { return !latch->has_leadership(); }, kTestTimeout));
  EXPECT_EQ(first.state(), HoldState::lost);
  EXPECT_TRUE(first.end_token().stop_requested());
  EXPECT_FALSE(latch->wait_until_leader(Deadline::passed()));
  EXPECT_EQ(log_.size(), 1U);  // the listener was not called
  gate.open();
  EXPECT_TRUE(leads_after(*latch, first.token()));
  ASSERT_TRUE(log_.reaches(3));
  EXPECT_TRUE(log_.is_in_order());
  callbacks.clear();
}

}  // namespace
}  // namespace zklock::testing
