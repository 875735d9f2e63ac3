// SPDX-License-Identifier: Apache-2.0
// The order and the number of the lines in the log of a client, which is written with no lock held.
#include <cstddef>
#include <functional>
#include <memory>
#include <stop_token>
#include <string>
#include <string_view>
#include <thread>
#include <utility>
#include <vector>

#include <gtest/gtest.h>
#include <spdlog/details/null_mutex.h>
#include <spdlog/logger.h>
#include <spdlog/sinks/base_sink.h>

#include "tests/model/lock_world.h"
#include "tests/model/test_candidate.h"
#include "zklock/engine/session/limited_log.h"
#include "zklock/recipes/observe/queue_observer.h"

namespace zklock::model {
namespace {

using Kind = OperationKind;

using namespace std::chrono_literals;
using detail::LogKind;
using Lines = std::vector<std::string>;

class LimitedLogTest : public ::testing::Test {
 protected:
  LimitedLogTest() { lock_.connect_all(); }

  detail::ClientCore& context() { return lock_.core(0); }
  void lose(int number) {
    context().log({.kind = LogKind::loss,
                   .text = "lock /" + std::to_string(number) + ": lost",
                   .path = "/" + std::to_string(number)});
  }
  void event(int number) {
    context().log({.level = LogLevel::debug,
                   .kind = LogKind::event,
                   .text = "event " + std::to_string(number)});
  }

  Lines lines_;
  std::function<void()> on_line_;
  LockWorld lock_{1, LockWorld::LogTarget{.sink =
                                              [this](LogLevel, std::string_view line) {
                                                lines_.emplace_back(line);
                                                if (on_line_) on_line_();
                                              },
                                          .level = LogLevel::debug}};
};

TEST_F(LimitedLogTest, TenThousandLosses_WriteElevenLines) {
  for (int i = 0; i < 10'000; ++i) lose(i);
  lock_.world().run_all();
  EXPECT_EQ(lines_.size(), 10U);
  lock_.world().run_for(10s);
  ASSERT_EQ(lines_.size(), 11U);
  EXPECT_EQ(lines_[9], "lock /9: lost");
  EXPECT_EQ(lines_[10], "lock /9999: 9990 more holds were lost, the last here");
  lose(7);
  lock_.world().run_all();
  EXPECT_EQ(lines_.back(), "lock /7: lost");
}

TEST_F(LimitedLogTest, OneKindIsLimited_OthersAreWritten) {
  for (int i = 0; i < 11; ++i) lose(i);
  context().warn("observe /x: closed");
  lock_.world().run_for(2s);
  ASSERT_EQ(lines_.size(), 12U);
  EXPECT_EQ(lines_[10], "observe /x: closed");
  EXPECT_EQ(lines_[11], "lock /10: 1 more hold was lost, the last here");
}

TEST_F(LimitedLogTest, Order_IsThatOfTheCalls) {
  bool added = false;
  on_line_ = [&] {  // as another thread would, while a line is written
    if (!std::exchange(added, true)) event(3);
  };
  event(0);
  lose(1);
  event(2);
  EXPECT_TRUE(lines_.empty()) << "add() writes nothing";
  lock_.world().run_all();
  EXPECT_EQ(lines_, (Lines{"event 0", "lock /1: lost", "event 2", "event 3"}));
}

TEST_F(LimitedLogTest, SlowLog_DropsLinesBeyondAThousand) {
  for (int i = 0; i < 1500; ++i) event(i);
  lock_.world().run_all();
  ASSERT_EQ(lines_.size(), 1001U);
  EXPECT_EQ(lines_[999], "event 999");
  EXPECT_EQ(lines_[1000], "zklock: 500 lines were not logged, because the log is too slow");
}

TEST_F(LimitedLogTest, ClientIsClosed_OmittedLinesAreReported) {
  for (int i = 0; i < 15; ++i) lose(i);
  context().close();
  lock_.world().run_all();
  ASSERT_EQ(lines_.size(), 11U);
  EXPECT_EQ(lines_[10], "lock /14: 5 more holds were lost, the last here");
}

TEST_F(LimitedLogTest, ClientIsClosed_LaterLinesAreDropped) {
  context().close();
  lose(1);
  lock_.world().run_all();
  EXPECT_EQ(lines_, Lines{});
}

TEST_F(LimitedLogTest, SlowLog_LossesAreKept) {
  for (int i = 0; i < 1500; ++i) event(i);
  for (int i = 0; i < 3; ++i) lose(i);
  lock_.world().run_all();
  ASSERT_EQ(lines_.size(), 1004U);
  EXPECT_EQ(lines_[1002], "lock /2: lost");
}

TEST_F(LimitedLogTest, SlowLog_OmittedLinesAreReportedLater) {
  bool is_first = true;
  on_line_ = [&] {  // the log is slow in the first line
    if (!std::exchange(is_first, false)) return;
    for (int i = 0; i < 1500; ++i) event(i);
    for (int i = 0; i < 12; ++i) context().warn("observe /x: closed");
    lock_.world().run_for(1500ms);
  };
  event(-1);
  ASSERT_TRUE(lock_.world().dispatcher(0).run_next());
  lock_.world().run_for(5s);
  ASSERT_EQ(lines_.size(), 1003U);
  EXPECT_EQ(lines_[1001], "zklock: 510 lines were not logged, because the log is too slow");
  EXPECT_EQ(lines_[1002], "zklock: 2 more warnings were omitted");
}

TEST_F(LimitedLogTest, PathWithKeys_IsQuoted) {
  const auto path_lock = lock_.path_lock(0, "/a: lost; owner=x");
  path_lock->warn("one; owner=y");
  lock_.world().run_all();
  EXPECT_EQ(lines_, Lines{"lock \"/a: lost; owner=x\": one, owner=y"});
}

// ---- a logger of the user ------------------------------------------------------------------------

using namespace std::chrono_literals;
using detail::QueueObserver;
using detail::QueueView;

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

}  // namespace
}  // namespace zklock::model
