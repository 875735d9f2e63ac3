// SPDX-License-Identifier: Apache-2.0
// A user's logger runs with no lock held: another thread may call the object that logs meanwhile.
#include <cstddef>
#include <functional>
#include <memory>
#include <stop_token>
#include <string>
#include <thread>
#include <vector>

#include <gtest/gtest.h>
#include <spdlog/details/null_mutex.h>
#include <spdlog/logger.h>
#include <spdlog/sinks/base_sink.h>

#include "tests/model/lock_world.h"
#include "tests/model/test_candidate.h"
#include "zklock/recipes/observe/queue_observer.h"

namespace zklock::model {
namespace {

using namespace std::chrono_literals;
using detail::QueueObserver;
using detail::QueueView;
using Kind = OperationKind;

/// Calls a function on another thread for each message, and waits until it has returned.
class CallingSink final : public spdlog::sinks::base_sink<spdlog::details::null_mutex> {
 public:
  int messages() const noexcept { return messages_; }
  const std::string& last() const noexcept { return last_; }
  std::function<void()> call;

 private:
  void sink_it_(const spdlog::details::log_msg& message) override {
    ++messages_;
    last_ = std::string(message.payload.data(), message.payload.size());
    if (call) std::jthread(call).join();
  }
  void flush_() override {}

  int messages_ = 0;
  std::string last_;
};

class Logger : public ::testing::Test {
 protected:
  Logger() { lock_.connect_all(); }

  const std::shared_ptr<CallingSink> sink_ = std::make_shared<CallingSink>();
  LockWorld lock_{1,
                  {},
                  true,
                  detail::ClientCore::kMostCreatesAtOnce,
                  LockWorld::LogTarget{.logger = std::make_shared<spdlog::logger>("test", sink_)}};
};

TEST_F(Logger, FailedCandidate_LogsWithoutItsMutex) {
  const auto candidate = std::make_shared<TestCandidate>(lock_.core(0));
  sink_->call = [&] { EXPECT_FALSE(candidate->leads()); };
  lock_.world().fail_next(0, Kind::create_contender, Status::no_auth);
  candidate->contend();
  lock_.world().run_all();
  EXPECT_EQ(sink_->messages(), 1);
  EXPECT_EQ(candidate->error()->errc(), Errc::no_auth);
  candidate->close();
}

TEST_F(Logger, FailedObserver_LogsWithoutItsMutex) {
  const auto observer = std::make_shared<QueueObserver>(
      lock_.path_lock(0), detail::ViewScope::all_holders(), Executor{});
  Subscription another;
  sink_->call = [&] { another = observer->add([](const QueueView&) {}); };
  lock_.world().fail_next(0, Kind::list_and_watch, Status::no_auth);
  const Subscription first = observer->add([](const QueueView&) {});
  lock_.world().run_for(1s);
  EXPECT_EQ(sink_->messages(), 1);
  observer->stop();
  lock_.world().run_all();
}

TEST_F(Logger, LostHold_IsLoggedWithItsZnodeAndCause) {
  const auto call = lock_.acquire(0);
  lock_.world().run_all();
  const std::string node = lock_.nodes().at(0);
  const std::stop_token lost = lock_.call(call).hold.loss_token();
  bool is_notified = false;
  const std::stop_callback on_loss(lost, [&is_notified] { is_notified = true; });
  sink_->call = [&] { EXPECT_TRUE(is_notified) << "the logger may block"; };
  ASSERT_EQ(lock_.world().ensemble().remove(LockWorld::kPath + ("/" + node)), Status::ok);
  lock_.world().run_for(1s);
  const std::string expected =
      std::string("lock ") + LockWorld::kPath +
      ": lost: the znode was deleted; owner=" + lock_.call(call).owner.to_string() +
      " token=" + to_string(lock_.call(call).token) + " node=" + node + " held=";
  EXPECT_TRUE(sink_->last().starts_with(expected)) << sink_->last();
  lock_.release(call);
}

TEST_F(Logger, SessionEnded_LossNamesTheSession) {
  const auto call = lock_.acquire(0);
  lock_.world().run_all();
  lock_.world().client(0).expire();
  lock_.world().run_for(1s);
  EXPECT_NE(sink_->last().find(": lost: the session ended; "), std::string::npos) << sink_->last();
  lock_.release(call);
}

TEST_F(Logger, SeveralHoldsLost_AllNotifiedBeforeFirstIsLogged) {
  std::vector<std::size_t> calls;
  for (int i = 0; i < 3; ++i) calls.push_back(lock_.acquire(0, LockWorld::to_read()));
  lock_.world().run_all();
  std::vector<std::stop_token> lost;
  for (const auto call : calls) lost.push_back(lock_.call(call).hold.loss_token());
  sink_->call = [&] {
    for (const auto& token : lost) EXPECT_TRUE(token.stop_requested()) << "the logger may block";
  };
  lock_.world().client(0).expire();
  lock_.world().run_for(1s);
  EXPECT_EQ(sink_->messages(), 3);
  for (const auto call : calls) lock_.release(call);
}

TEST_F(Logger, LeaseEndedBeforeTheClose_IsLogged) {
  lock_.acquire(0);
  lock_.world().run_all();
  lock_.world().pause(0);
  lock_.world().run_for(1h);
  lock_.world().resume(0);  // no timer has run yet
  lock_.core(0).close();
  lock_.world().run_all();
  EXPECT_NE(sink_->last().find(": lost: the lease expired; "), std::string::npos) << sink_->last();
}

TEST_F(Logger, ReleasedHold_IsNotLogged) {
  const auto call = lock_.acquire(0);
  lock_.world().run_for(1s);
  lock_.release(call);
  lock_.world().run_for(1s);
  EXPECT_EQ(sink_->messages(), 0);
}

}  // namespace
}  // namespace zklock::model
