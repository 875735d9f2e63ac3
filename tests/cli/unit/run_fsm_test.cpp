// SPDX-License-Identifier: Apache-2.0
#include "zklock/cli/core/run_fsm.h"

#include <cerrno>
#include <chrono>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include <gtest/gtest.h>
#include <signal.h>

#include "unit/state_table.h"
#include "zklock/cli/core/failure.h"

namespace zklock::cli {
namespace {

using Kind = RunEffect::Kind;
using Effects = RunEffects;
using State = RunState;

constexpr Instant kBound(std::chrono::seconds(100));
constexpr Instant kLate = kBound + Duration(1);

constexpr int exited(int code) {
  return code << 8;
}

const char* name_of(State state) {
  switch (state) {
    case State::queued: return "queued";
    case State::withdrawing: return "withdrawing";
    case State::holding: return "holding";
    case State::starting: return "starting";
    case State::running: return "running";
    case State::ending: return "ending";
    case State::sweeping: return "sweeping";
    case State::orphaned: return "orphaned";
    case State::releasing: return "releasing";
    case State::ended: return "ended";
  }
  return "";
}

using Input = std::function<Effects(RunFsm&)>;
const std::vector<std::pair<std::string, Input>>& inputs() {
  static const std::vector<std::pair<std::string, Input>> kInputs{
      {"on_granted", [](RunFsm& fsm) { return fsm.on_granted(); }},
      {"on_not_granted", [](RunFsm& fsm) { return fsm.on_not_granted(75); }},
      {"on_lease_suffices", [](RunFsm& fsm) { return fsm.on_lease_suffices(); }},
      {"on_signal", [](RunFsm& fsm) { return fsm.on_signal(SIGTERM); }},
      {"on_signal", [](RunFsm& fsm) { return fsm.on_signal(SIGUSR1); }},
      {"on_lost", [](RunFsm& fsm) { return fsm.on_lost(LossReason::forced); }},
      {"on_lost", [](RunFsm& fsm) { return fsm.on_lost(LossReason::lease_expired); }},
      {"on_step", [](RunFsm& fsm) { return fsm.on_step(); }},
      {"on_release_requested", [](RunFsm& fsm) { return fsm.on_release_requested(SIGTERM); }},
      {"on_started", [](RunFsm& fsm) { return fsm.on_started(); }},
      {"on_not_started", [](RunFsm& fsm) { return fsm.on_not_started(ENOENT); }},
      {"on_child_ended", [](RunFsm& fsm) { return fsm.on_child_ended(0); }},
      {"on_swept", [](RunFsm& fsm) { return fsm.on_swept(kBound, kBound, std::nullopt); }},
      {"on_guardian_ended", [](RunFsm& fsm) { return fsm.on_guardian_ended(); }},
      {"on_overdue", [](RunFsm& fsm) { return fsm.on_overdue(); }},
      {"on_released", [](RunFsm& fsm) { return fsm.on_released(); }},
  };
  return kInputs;
}

TEST(RunFsmTable, Header_IsWhatTheCodeDoes) {
  std::map<State, RunFsm> found{{State::queued, RunFsm()}};
  core::state_table::Transitions made;
  for (bool grows = true; grows;) {
    grows = false;
    const auto known = found;
    for (const auto& [state, machine] : known) {
      for (const auto& [name, input] : inputs()) {
        RunFsm fsm = machine;
        input(fsm);
        if (fsm.state() == state) continue;
        made.insert({name_of(state), name, name_of(fsm.state())});
        grows = found.try_emplace(fsm.state(), fsm).second || grows;
      }
    }
  }
  const auto table = core::state_table::transitions_of("zklock/cli/core/run_fsm.h");
  EXPECT_EQ(core::state_table::differences(made, table), "");
}

RunFsm holding() {
  RunFsm fsm;
  EXPECT_TRUE(fsm.on_granted().empty());
  return fsm;
}
RunFsm starting() {
  RunFsm fsm = holding();
  EXPECT_EQ(fsm.on_lease_suffices(), (Effects{{Kind::start}}));
  return fsm;
}
RunFsm running() {
  RunFsm fsm = starting();
  EXPECT_TRUE(fsm.on_started().empty());
  return fsm;
}
RunFsm sweeping(int status) {
  RunFsm fsm = running();
  EXPECT_TRUE(fsm.on_child_ended(status).empty());
  return fsm;
}
/// Ends the run, and returns the exit code.
int code_of(RunFsm fsm, Instant swept = kBound, std::optional<LossReason> loss = std::nullopt) {
  fsm.on_child_ended(exited(0));
  fsm.on_swept(swept, kBound, loss);
  EXPECT_TRUE(fsm.on_released().empty());
  EXPECT_EQ(fsm.state(), State::ended);
  return fsm.exit_code();
}

TEST(RunFsm, GrantedWhileWithdrawing_ReleasesWithoutStart) {
  RunFsm fsm;
  fsm.on_signal(SIGINT);
  EXPECT_EQ(fsm.on_granted(), (Effects{{Kind::release}}));
  EXPECT_TRUE(fsm.on_released().empty());
  EXPECT_EQ(fsm.state(), State::ended);
  EXPECT_EQ(fsm.exit_code(), 128 + SIGINT);
}

TEST(RunFsm, LostBeforeTheStart_CommandIsNotStarted) {
  RunFsm fsm = holding();
  EXPECT_EQ(fsm.on_lost(LossReason::lease_expired), (Effects{{Kind::release}}));
  EXPECT_TRUE(fsm.on_lease_suffices().empty());
  fsm.on_released();
  EXPECT_EQ(fsm.exit_code(), ExitCode::kLost);
}

TEST(RunFsm, LostWhileStarting_EndsCommand) {
  RunFsm fsm = starting();
  EXPECT_EQ(fsm.on_lost(LossReason::lease_expired), (Effects{{Kind::kill}}));
  EXPECT_TRUE(fsm.on_started().empty());
  EXPECT_EQ(code_of(fsm), ExitCode::kLost);
}

TEST(RunFsm, Lost_WinsOverTheCodeOfTheCommand) {
  for (const LossReason cause :
       {LossReason::lease_expired, LossReason::session_expired, LossReason::node_deleted,
        LossReason::max_hold, LossReason::forced, LossReason::closed}) {
    RunFsm fsm = running();
    const bool has_grace = cause == LossReason::max_hold || cause == LossReason::forced;
    EXPECT_EQ(fsm.on_lost(cause), (Effects{{has_grace ? Kind::end : Kind::kill}}));
    EXPECT_EQ(code_of(fsm, kBound, cause), ExitCode::kLost);
  }
}

TEST(RunFsm, PlanEndsCommand_ExitIs79AlsoIfNotLost) {
  RunFsm fsm = running();
  fsm.on_step();
  EXPECT_EQ(code_of(fsm), ExitCode::kLost);
}

TEST(RunFsm, LeaseLostAfterTheSweep_KeepsTheCode) {
  EXPECT_EQ(code_of(sweeping(exited(3)), kBound, LossReason::lease_expired), 3);
  EXPECT_EQ(code_of(sweeping(exited(3)), kBound, LossReason::session_expired), 3);
  EXPECT_EQ(code_of(sweeping(exited(3)), kLate, LossReason::lease_expired), ExitCode::kLost);
  EXPECT_EQ(code_of(sweeping(exited(3)), kBound, LossReason::forced), ExitCode::kLost);
  EXPECT_EQ(code_of(sweeping(exited(3)), kBound, LossReason::node_deleted), ExitCode::kLost);
}

TEST(RunFsm, NoRelease_BeforeTheSweep) {
  RunFsm fsm = sweeping(exited(0));
  EXPECT_EQ(fsm.state(), State::sweeping);
  EXPECT_EQ(fsm.on_swept(kBound, kBound, std::nullopt), (Effects{{Kind::release}}));
}

TEST(RunFsm, NotStarted_ExitsAsAShell) {
  for (const auto& [error, code] :
       {std::pair{ENOENT, 127}, std::pair{EACCES, 126}, std::pair{EAGAIN, 71}, std::pair{0, 79}}) {
    RunFsm fsm = starting();
    EXPECT_EQ(fsm.on_not_started(error), (Effects{{Kind::release}}));
    fsm.on_released();
    EXPECT_EQ(fsm.exit_code(), code) << error;
  }
}

TEST(RunFsm, SignalWhileStarting_FollowsTheStart) {
  RunFsm fsm = starting();
  EXPECT_TRUE(fsm.on_signal(SIGUSR1).empty());
  EXPECT_EQ(fsm.on_started(), (Effects{{Kind::signal, SIGUSR1}}));
  EXPECT_EQ(fsm.on_signal(SIGTERM), (Effects{{Kind::signal, SIGTERM}}));
}

TEST(RunFsm, ReleaseRequested_SignalsOnce) {
  RunFsm fsm = running();
  EXPECT_EQ(fsm.on_release_requested(SIGINT), (Effects{{Kind::signal, SIGINT}}));
  EXPECT_TRUE(fsm.on_release_requested(SIGINT).empty());
  EXPECT_EQ(code_of(fsm), 0);
}

TEST(RunFsm, ReleaseRequestedEarly_SignalFollowsTheStart) {
  RunFsm fsm = holding();
  EXPECT_TRUE(fsm.on_release_requested(SIGTERM).empty());
  EXPECT_EQ(fsm.on_lease_suffices(), (Effects{{Kind::start}}));
  EXPECT_TRUE(fsm.on_release_requested(SIGTERM).empty());
  EXPECT_EQ(fsm.on_started(), (Effects{{Kind::signal, SIGTERM}}));
}

TEST(RunFsm, GuardianEndsWhileQueued_IsInternal) {
  RunFsm fsm;
  EXPECT_EQ(fsm.on_guardian_ended(), (Effects{{Kind::withdraw}}));
  fsm.on_not_granted(75);
  EXPECT_EQ(fsm.exit_code(), ExitCode::kInternal);
}

TEST(ExitCode, EachErrc_HasOne) {
  for (int code = 1; code <= static_cast<int>(Errc::bad_data); ++code) {
    const int exit = exit_code_of(static_cast<Errc>(code));
    EXPECT_TRUE(exit >= 64 && exit <= 79) << code;
  }
}

}  // namespace
}  // namespace zklock::cli
