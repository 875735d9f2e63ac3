// SPDX-License-Identifier: Apache-2.0
// The order and the number of the lines in the log of a client.
#include "zklock/engine/session/limited_log.h"

#include <functional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "tests/model/lock_world.h"

namespace zklock::model {
namespace {

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
  LockWorld lock_{1,
                  {},
                  true,
                  detail::ClientCore::kMostCreatesAtOnce,
                  LockWorld::LogTarget{.sink =
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

}  // namespace
}  // namespace zklock::model
