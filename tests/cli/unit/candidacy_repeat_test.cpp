// SPDX-License-Identifier: Apache-2.0
#include "zklock/cli/core/candidacy_repeat.h"

#include <chrono>
#include <optional>

#include <gtest/gtest.h>
#include <signal.h>

#include "zklock/cli/core/failure.h"

namespace zklock::cli {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;

bool stands_again(const CandidacyEnd& end) {
  return CandidacyRepeat().next(end).has_value();
}

TEST(CandidacyRepeat, CommandEnded_StandsAgain) {
  for (const int code : {0, 1, 79, 126, 127, 128 + SIGHUP, 128 + SIGKILL}) {
    EXPECT_TRUE(stands_again({.was_started = true, .exit_code = code})) << code;
  }
}

TEST(CandidacyRepeat, NotStarted_StandsAgainIfThatCanPass) {
  for (const int code : {ExitCode::kUnavailable, ExitCode::kSystem, ExitCode::kLost}) {
    EXPECT_TRUE(stands_again({.exit_code = code})) << code;
  }
  for (const int code :
       {ExitCode::kUsage, ExitCode::kData, ExitCode::kInternal, ExitCode::kNoPermission,
        ExitCode::kConfiguration, ExitCode::kNotExecutable, ExitCode::kNotFound}) {
    EXPECT_FALSE(stands_again({.exit_code = code})) << code;
  }
}

TEST(CandidacyRepeat, Signal_EndsIt) {
  for (const int signal : {SIGINT, SIGTERM, SIGQUIT}) {
    EXPECT_FALSE(stands_again({.was_started = true, .exit_code = 0, .signal = signal})) << signal;
    EXPECT_FALSE(stands_again({.exit_code = ExitCode::kSignal + signal, .signal = signal}));
  }
}

TEST(CandidacyRepeat, Hangup_EndsItOnlyIfTheCommandDied) {
  EXPECT_TRUE(stands_again({.was_started = true, .exit_code = 3, .signal = SIGHUP}));
  EXPECT_FALSE(stands_again({.was_started = true, .exit_code = 129, .signal = SIGHUP}));
  // While it waited, HUP ended the wait.
  EXPECT_FALSE(stands_again({.exit_code = 129, .signal = SIGHUP}));
}

TEST(CandidacyRepeat, ShortLeaderships_PauseGrowsToAMinute) {
  CandidacyRepeat plan;
  const CandidacyEnd brief{.was_started = true, .held_for = seconds(10) - milliseconds(1)};
  for (const int pause : {1, 2, 4, 8, 16, 32, 60, 60}) {
    EXPECT_EQ(plan.next(brief), seconds(pause));
  }
  const CandidacyEnd lasting{.was_started = true, .held_for = seconds(10)};
  EXPECT_EQ(plan.next(lasting), seconds(1));
  EXPECT_EQ(plan.next(lasting), seconds(1));
  EXPECT_EQ(plan.next(brief), seconds(2));
}

TEST(CandidacyRepeat, NoServer_PauseDoesNotGrow) {
  CandidacyRepeat plan;
  for (int attempt = 0; attempt < 8; ++attempt) {
    EXPECT_EQ(plan.next({.exit_code = ExitCode::kUnavailable}), seconds(1));
  }
  const CandidacyEnd brief{.was_started = true, .exit_code = 1};
  EXPECT_EQ(plan.next(brief), seconds(1));
  EXPECT_EQ(plan.next(brief), seconds(2));
  EXPECT_EQ(plan.next({.exit_code = ExitCode::kUnavailable}), seconds(1));
  EXPECT_EQ(plan.next(brief), seconds(4));
  // A command can exit with that code, too.
  EXPECT_EQ(plan.next({.was_started = true, .exit_code = ExitCode::kUnavailable}), seconds(8));
}

}  // namespace
}  // namespace zklock::cli
