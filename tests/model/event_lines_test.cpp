// SPDX-License-Identifier: Apache-2.0
// The lines of the log about the events of a contender.
#include <algorithm>
#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include <gtest/gtest.h>
#include <unistd.h>

#include "tests/model/lock_world.h"
#include "zklock/engine/wait_description.h"

namespace zklock::model {
namespace {

using namespace std::chrono_literals;
using Lines = std::vector<std::string>;

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
    const auto first = lock_.acquire(1);  // the path exists from now on
    lock_.world().run_for(100ms);
    lock_.release(first);
    lock_.world().run_for(1s);
    lines_.clear();
  }
  void run_for(Duration duration) { lock_.world().run_for(duration); }
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
  std::string fields_of(std::size_t call) {
    return "; owner=" + lock_.call(call).owner.to_string() +
           " token=" + to_string(lock_.call(call).token);
  }

  Lines lines_;
  LockWorld lock_;
};

class DefaultEventLines : public EventLines {
 protected:
  DefaultEventLines() : EventLines(LogLevel::info) {}
};

TEST_F(EventLines, ShortHold_IsAcquiredAndReleased) {
  const auto call = lock_.acquire(0);
  run_for(0s);
  const std::string node = lock_.call(call).node.substr(std::string(LockWorld::kPath).size() + 1);
  run_for(250ms);
  const std::string fields = fields_of(call);
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
  const auto first = lock_.acquire(0, {.texts = detail::CallTexts::of_call(label, "job 42")});
  run_for(0s);
  const auto second = lock_.acquire(0, {.texts = label});
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
  for (const char* sentence : {"acquired", "not acquired yet", "lost"}) {
    EXPECT_TRUE(has(sentence)) << sentence;
  }
  EXPECT_TRUE(has("not acquired yet: held by host pid " + std::to_string(::getpid()) +
                  " (test/billing, \"job 42\")"));
  for (const auto call : {first, second}) lock_.release(call);
}

TEST_F(EventLines, LimitedHold_IsSuspendedResumedExpiringAndLost) {
  const auto call = lock_.acquire(0, {.limit = {.longest = 8s, .notice = 3s}});
  run_for(1s);
  lock_.world().disconnect(0);
  run_for(1s);
  lock_.world().reconnect(0);
  run_for(8s);
  EXPECT_EQ(sentences(), (Lines{"acquired", "suspended", "resumed", "expiring",
                                "lost: the maximum hold time ended"}));
  EXPECT_NE(lines_.back().find(" held=8.000s"), std::string::npos) << lines_.back();
  lock_.release(call);
}

// flush() reads the clock of each hold, at any time after the warning.
TEST_F(EventLines, ClockReadAfterWarning_IsExpiringOnce) {
  const auto call = lock_.acquire(0, {.limit = {.longest = 8s, .notice = 3s}});
  run_for(6s);
  EXPECT_TRUE(lock_.core(0).flush(Deadline::passed()));
  run_for(1s);
  EXPECT_EQ(sentences(), (Lines{"acquired", "expiring"}));
  lock_.release(call);
}

TEST_F(EventLines, ThreadEndsWithLock_Warns) {
  const auto call = lock_.acquire(0, {.kind = core::CountKind::lock});
  run_for(0s);
  lock_.path_lock(0)->thread_exits(lock_.call(call).owner);
  run_for(1s);
  EXPECT_EQ(std::ranges::count(sentences(), "a thread ended without unlocking it"), 1);
  lock_.release(call);
}

TEST_F(EventLines, DowngradeRefused_Warns) {
  const Owner owner = Owner::unique();
  const auto writer = lock_.acquire(0, LockWorld::to_write(owner));
  run_for(0s);
  const auto reader = lock_.acquire(0, LockWorld::to_read(owner));
  run_for(0s);
  lines_.clear();
  lock_.world().fail_next(0, OperationKind::transaction, Status::no_auth);
  lock_.release(writer);
  run_for(1s);
  ASSERT_EQ(lines_.size(), 1U);
  EXPECT_TRUE(lines_[0].starts_with(std::string("downgrade ") + LockWorld::kPath)) << lines_[0];
  lock_.release(reader);
}

TEST_F(EventLines, KnownPosition_IsWaiting) {
  const auto first = lock_.acquire(1);
  run_for(0s);
  lines_.clear();
  const auto call = lock_.acquire(0, LockWorld::to_write());  // it lists the queue
  run_for(0s);
  ASSERT_FALSE(lines_.empty());
  EXPECT_EQ(sentences().front(), "waiting behind 1");
  lock_.release(first);
  run_for(0s);
  EXPECT_EQ(sentences().back(), "acquired");
  lock_.release(call);
}

TEST_F(EventLines, CohortWaits_EachLineHasItsPosition) {
  const auto first = lock_.acquire(1);
  run_for(0s);
  lines_.clear();
  const LockWorld::Request request{.rule = core::QueueRule::writer(), .local = {.batch = 10}};
  const auto second = lock_.acquire(0, request);
  LockWorld::Request next = request;
  next.owner = Owner::unique();
  const auto third = lock_.acquire(0, next);
  run_for(0s);
  EXPECT_EQ(sentences(), (Lines{"waiting behind 1", "waiting behind 2"}));
  for (const auto call : {first, second, third}) {
    lock_.release(call);
    run_for(0s);
  }
}

TEST_F(DefaultEventLines, ShortHold_AddsNoLine) {
  const auto call = lock_.acquire(0);
  run_for(100ms);
  EXPECT_TRUE(lock_.call(call).granted());
  lock_.release(call);
  run_for(1s);
  EXPECT_EQ(lines_, Lines{});
}

TEST_F(DefaultEventLines, SlowAcquire_NamesTheHolderAtPowersOfTen) {
  const auto first = lock_.acquire(1);
  run_for(0s);
  const auto call = lock_.acquire(0);
  run_for(30s);
  const std::string begin = "not acquired yet: held by host pid ";
  ASSERT_EQ(lines_.size(), 2U);
  for (const std::string& sentence : sentences()) {
    EXPECT_TRUE(sentence.starts_with(begin)) << sentence;
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
  lock_.release(call);
}

TEST_F(DefaultEventLines, ManyWaiters_ReadTheQueueOnce) {
  const auto first = lock_.acquire(1);
  run_for(0s);
  std::vector<std::size_t> calls;
  for (int i = 0; i < 50; ++i) calls.push_back(lock_.acquire(0));
  run_for(500ms);
  lock_.world().client(0).reset_counts();
  run_for(8s);
  EXPECT_EQ(lines_.size(), 1U);
  EXPECT_EQ(lock_.world().client(0).requests(OperationKind::list_children), 1U);
  EXPECT_TRUE(sentences().front().ends_with(", 50 wait")) << lines_.front();
  lock_.release(first);
  for (const auto call : calls) lock_.cancel(call);
}

TEST_F(DefaultEventLines, LongQueue_IsCountedNotRead) {
  const auto first = lock_.acquire(1);
  run_for(0s);
  std::vector<std::size_t> calls;
  for (int i = 0; i < detail::kMostListed; ++i) calls.push_back(lock_.acquire(0));
  run_for(500ms);
  lock_.world().client(0).reset_counts();
  run_for(2400ms);  // a marker of the hold would come later
  EXPECT_EQ(sentences(), Lines{"not acquired yet: the path has 201 znodes"});
  EXPECT_EQ(lock_.world().client(0).requests(OperationKind::list_children), 0U);
  lock_.release(first);
  for (const auto call : calls) lock_.cancel(call);
}

TEST_F(DefaultEventLines, SharedPermitCount_IsRead) {
  lock_.say_permits(1);
  const auto first = lock_.acquire(1, LockWorld::shared_permits(1, 1));
  run_for(0s);
  ASSERT_TRUE(lock_.call(first).granted());
  const auto call = lock_.acquire(0, LockWorld::shared_permits(1, 1));
  run_for(5s);
  ASSERT_EQ(lines_.size(), 1U);
  EXPECT_TRUE(sentences().front().ends_with(" (test), 1 waits")) << lines_.front();
  lock_.release(first);
  lock_.cancel(call);
}

TEST_F(DefaultEventLines, ReadFails_NextDecadeTriesAgain) {
  const auto first = lock_.acquire(1);
  run_for(0s);
  const auto call = lock_.acquire(0);
  run_for(500ms);
  lock_.world().fail_next(0, OperationKind::list_children, Status::no_auth);
  run_for(8s);
  EXPECT_EQ(lines_, Lines{});
  run_for(10s);
  EXPECT_EQ(lines_.size(), 1U);
  lock_.release(first);
  lock_.cancel(call);
}

TEST_F(DefaultEventLines, ClosedClient_AddsNoLine) {
  lock_.acquire(0);
  run_for(1s);
  lock_.core(0).close();
  run_for(1s);
  EXPECT_EQ(lines_, Lines{});
}

}  // namespace
}  // namespace zklock::model
