// SPDX-License-Identifier: Apache-2.0
// The log: its limits, its loggers, and the lines of each hold.
#include <algorithm>
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
#include <unistd.h>

#include "tests/model/election_fixture.h"
#include "zklock/engine/session/limited_log.h"
#include "zklock/engine/wait_description.h"
#include "zklock/recipes/observe/queue_observer.h"

namespace zklock::model {
namespace {

using Kind = OperationKind;
using detail::LogKind;
using Lines = std::vector<std::string>;
using detail::QueueObserver;

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
  context().warn("observe /x: closed");
  lock_.world().run_all();
  ASSERT_EQ(lines_.size(), 11U);
  EXPECT_EQ(lines_[9], "lock /9: lost");
  EXPECT_EQ(lines_[10], "observe /x: closed") << "a line of another kind";
  lock_.world().run_for(10s);
  ASSERT_EQ(lines_.size(), 12U);
  EXPECT_EQ(lines_[11], "lock /9999: 9990 more holds were lost, the last here");
  lose(7);
  lock_.world().run_all();
  EXPECT_EQ(lines_.back(), "lock /7: lost");
}

TEST_F(LimitedLogTest, OneLineOmitted_IsReported) {
  for (int i = 0; i < 11; ++i) lose(i);
  lock_.world().run_for(10s);
  ASSERT_EQ(lines_.size(), 11U);
  EXPECT_EQ(lines_[10], "lock /10: 1 more hold was lost, the last here");
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
  for (int i = 0; i < 3; ++i) lose(i);
  lock_.world().run_all();
  ASSERT_EQ(lines_.size(), 1004U);
  EXPECT_EQ(lines_[999], "event 999");
  EXPECT_EQ(lines_[1002], "lock /2: lost");
  EXPECT_EQ(lines_[1003], "zklock: 500 lines were not logged, because the log is too slow");
}

TEST_F(LimitedLogTest, ClientIsClosed_OmittedLinesAreReported) {
  for (int i = 0; i < 15; ++i) lose(i);
  context().close();
  lose(1);
  lock_.world().run_all();
  ASSERT_EQ(lines_.size(), 11U);
  EXPECT_EQ(lines_[10], "lock /14: 5 more holds were lost, the last here");
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
  bool is_notified = false;
  const std::stop_callback on_loss(lock_.call(call).hold.loss_token(), [&] { is_notified = true; });
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

/// Two clients that log to lines_.
class EventLines : public ::testing::Test {
 protected:
  explicit EventLines(LogLevel level = LogLevel::debug)
      : lock_(2, LockWorld::LogTarget{
                     .sink = [this](LogLevel, std::string_view line) { lines_.emplace_back(line); },
                     .level = level}) {
    lock_.connect_all();
  }
  void SetUp() override {
    lock_.release(acquire(1));  // the path exists from now on
    run_for(1s);
    lines_.clear();
  }
  void run_for(Duration duration) { lock_.world().run_for(duration); }
  std::size_t acquire(std::size_t client, LockWorld::Request request = {}) {
    const std::size_t call = lock_.acquire(client, std::move(request));
    run_for(0s);
    return call;
  }
  /// Returns the sentences of the lines, without the path and the fields.
  Lines sentences() const {
    const std::string begin = std::string("lock ") + LockWorld::kPath + ": ";
    Lines all;
    for (const std::string& line : lines_) {
      EXPECT_TRUE(line.starts_with(begin)) << line;
      all.push_back(line.substr(begin.size(), line.find("; ") - begin.size()));
    }
    return all;
  }
  Lines lines_;
  LockWorld lock_;
};

class DefaultEventLines : public EventLines {
 protected:
  DefaultEventLines() : EventLines(LogLevel::info) {}
};

TEST_F(EventLines, ShortHold_IsAcquiredAndReleased) {
  const auto call = acquire(0);
  const std::string node = lock_.call(call).node.substr(std::string(LockWorld::kPath).size() + 1);
  run_for(250ms);
  const std::string fields = "; owner=" + lock_.call(call).owner.to_string() +
                             " token=" + to_string(lock_.call(call).token);
  lock_.release(call);
  run_for(1s);
  ASSERT_EQ(lines_.size(), 2U);
  EXPECT_EQ(lines_[0], std::string("lock ") + LockWorld::kPath + ": acquired" + fields +
                           " node=" + node + " waited=0.000s");
  EXPECT_EQ(lines_[1],
            std::string("lock ") + LockWorld::kPath + ": released" + fields + " held=0.250s");
}

TEST_F(EventLines, LabelAndNote_AreInEveryLine) {
  const auto label = detail::CallTexts::of_object("billing");
  const auto first = acquire(0, {.texts = detail::CallTexts::of_call(label, "job 42")});
  lock_.acquire(0, {.texts = label});
  run_for(5s);
  lock_.world().expire(0);
  run_for(1s);
  for (const std::string& line : lines_) {
    const bool is_first = line.find(lock_.call(first).owner.to_string()) != std::string::npos;
    EXPECT_TRUE(line.ends_with(is_first ? " label=billing note=\"job 42\"" : " label=billing"))
        << line;
  }
  const auto has = [&](const std::string& sentence) {
    return std::ranges::any_of(lines_, [&](const std::string& line) {
      return line.find(": " + sentence) != std::string::npos;
    });
  };
  const std::string holder = "held by host pid " + std::to_string(::getpid());
  EXPECT_TRUE(has("acquired") && has("lost"));
  EXPECT_TRUE(has("not acquired yet: " + holder + " (test/billing, \"job 42\")"));
}

TEST_F(EventLines, LimitedHold_IsSuspendedResumedExpiringAndLost) {
  lock_.acquire(0, {.limit = {.longest = 8s, .notice = 3s}});
  run_for(1s);
  lock_.world().disconnect(0);
  run_for(1s);
  lock_.world().reconnect(0);
  run_for(8s);
  EXPECT_EQ(sentences(), (Lines{"acquired", "suspended", "resumed", "expiring",
                                "lost: the maximum hold time ended"}));
  EXPECT_NE(lines_.back().find(" held=8.000s"), std::string::npos) << lines_.back();
}

// flush() reads the clock of each hold, at any time after the warning.
TEST_F(EventLines, ClockReadAfterWarning_IsExpiringOnce) {
  lock_.acquire(0, {.limit = {.longest = 8s, .notice = 3s}});
  run_for(6s);
  EXPECT_TRUE(lock_.core(0).flush(Deadline::passed()));
  run_for(1s);
  EXPECT_EQ(sentences(), (Lines{"acquired", "expiring"}));
}

TEST_F(EventLines, ThreadEndsWithLock_Warns) {
  const auto call = acquire(0, {.kind = core::CountKind::lock});
  lock_.path_lock(0)->thread_exits(lock_.call(call).owner);
  run_for(1s);
  EXPECT_EQ(std::ranges::count(sentences(), "a thread ended without unlocking it"), 1);
}

TEST_F(EventLines, DowngradeRefused_Warns) {
  const Owner owner = Owner::unique();
  const auto writer = acquire(0, LockWorld::to_write(owner));
  acquire(0, LockWorld::to_read(owner));
  lines_.clear();
  lock_.world().fail_next(0, OperationKind::transaction, Status::no_auth);
  lock_.release(writer);
  run_for(1s);
  ASSERT_EQ(lines_.size(), 1U);
  EXPECT_TRUE(lines_[0].starts_with(std::string("downgrade ") + LockWorld::kPath)) << lines_[0];
}

TEST_F(EventLines, CohortWaits_EachLineHasItsPosition) {
  acquire(1);
  lines_.clear();
  const LockWorld::Request request{.rule = core::QueueRule::writer(), .local = {.batch = 10}};
  lock_.acquire(0, request);
  LockWorld::Request next = request;
  next.owner = Owner::unique();
  acquire(0, next);
  EXPECT_EQ(sentences(), (Lines{"waiting behind 1", "waiting behind 2"}));
}

TEST_F(DefaultEventLines, SlowAcquire_NamesTheHolderAtPowersOfTen) {
  const auto first = acquire(1);
  const auto call = lock_.acquire(0);
  run_for(30s);
  ASSERT_EQ(lines_.size(), 2U);
  for (const std::string& sentence : sentences()) {
    EXPECT_TRUE(sentence.starts_with("not acquired yet: held by host pid ")) << sentence;
    EXPECT_NE(sentence.find(" (test)"), std::string::npos) << sentence;
    EXPECT_TRUE(sentence.ends_with(", 1 waits")) << sentence;
  }
  const std::string owner = "; owner=" + lock_.call(call).owner.to_string() + " waited=";
  EXPECT_NE(lines_[0].find(owner), std::string::npos) << lines_[0];
  lock_.release(first);
  run_for(1s);
  ASSERT_EQ(lines_.size(), 3U);
  EXPECT_EQ(sentences()[2], "acquired");
  EXPECT_NE(lines_[2].find(" waited=30."), std::string::npos) << lines_[2];
}

TEST_F(DefaultEventLines, ManyWaiters_ReadTheQueueOnce) {
  acquire(1);
  for (int i = 0; i < 50; ++i) lock_.acquire(0);
  run_for(500ms);
  lock_.world().client(0).reset_counts();
  run_for(8s);
  EXPECT_EQ(lines_.size(), 1U);
  EXPECT_EQ(lock_.world().client(0).requests(OperationKind::list_children), 1U);
  EXPECT_TRUE(sentences().front().ends_with(", 50 wait")) << lines_.front();
}

TEST_F(DefaultEventLines, LongQueue_IsCountedNotRead) {
  acquire(1);
  for (int i = 0; i < detail::kMostListed; ++i) lock_.acquire(0);
  run_for(500ms);
  lock_.world().client(0).reset_counts();
  run_for(2400ms);  // a marker of the hold would come later
  EXPECT_EQ(sentences(), Lines{"not acquired yet: the path has 201 znodes"});
  EXPECT_EQ(lock_.world().client(0).requests(OperationKind::list_children), 0U);
}

TEST_F(DefaultEventLines, ReadFails_NextDecadeTriesAgain) {
  acquire(1);
  lock_.acquire(0);
  run_for(500ms);
  lock_.world().fail_next(0, OperationKind::list_children, Status::no_auth);
  run_for(8s);
  EXPECT_EQ(lines_, Lines{});
  run_for(10s);
  EXPECT_EQ(lines_.size(), 1U);
}

TEST_F(DefaultEventLines, ShortHoldAndClose_AddNoLine) {
  const auto call = acquire(0);
  run_for(100ms);
  EXPECT_TRUE(lock_.call(call).granted());
  lock_.release(call);
  acquire(0);
  run_for(1s);
  lock_.core(0).close();
  run_for(1s);
  EXPECT_EQ(lines_, Lines{});
}

}  // namespace
}  // namespace zklock::model
