// SPDX-License-Identifier: Apache-2.0
#include "zklock/core/election_fsm.h"

#include <set>
#include <vector>

#include <gtest/gtest.h>

namespace zklock::core {
namespace {

TEST(ElectionFsm, WithdrawnWithoutATurn_DoesNotContend) {
  ElectionFsm fsm(true);
  fsm.contend();
  fsm.on_granted(fsm.attempt());
  fsm.withdraw();
  EXPECT_EQ(fsm.on_finished(fsm.attempt(), LeaderEnd::not_run),
            (ElectionEffects{ElectionEffect::release}));
}

// The candidate contends for one leadership, and has not led yet.
TEST(ElectionFsm, FunctionNotRun_ContendsAgain) {
  ElectionFsm fsm(false);
  fsm.contend();
  fsm.on_granted(fsm.attempt());
  EXPECT_EQ(
      fsm.on_finished(fsm.attempt(), LeaderEnd::not_run),
      (ElectionEffects{ElectionEffect::stop, ElectionEffect::release, ElectionEffect::contend}));
}

TEST(ElectionFsm, SeveralRequestsWhileLeading_LastDecides) {
  enum class Event { contend, lost, withdraw, interrupt };
  const auto after = [](bool again, const std::vector<Event>& said) {
    ElectionFsm fsm(again);
    fsm.contend();
    fsm.on_granted(fsm.attempt());
    for (const Event event : said) {
      switch (event) {
        case Event::contend: fsm.contend(); break;
        case Event::lost: fsm.on_lost(fsm.attempt()); break;
        case Event::withdraw: fsm.withdraw(); break;
        case Event::interrupt: fsm.interrupt(); break;
      }
    }
    const bool wants = fsm.will_contend();
    fsm.on_finished(fsm.attempt());
    EXPECT_EQ(fsm.state(), wants ? CandidateState::contending : CandidateState::idle);
    return wants;
  };
  EXPECT_TRUE(after(true, {}));
  EXPECT_FALSE(after(false, {}));
  EXPECT_TRUE(after(false, {Event::contend}));
  EXPECT_TRUE(after(false, {Event::lost, Event::contend}));
  EXPECT_FALSE(after(true, {Event::withdraw}));
  EXPECT_FALSE(after(true, {Event::lost, Event::withdraw}));
  EXPECT_TRUE(after(true, {Event::withdraw, Event::contend}));
  EXPECT_FALSE(after(false, {Event::contend, Event::withdraw}));
  EXPECT_FALSE(after(true, {Event::withdraw, Event::interrupt}));
}

TEST(ElectionFsm, EndOfAnEarlierLeadership_HasNoEffect) {
  ElectionFsm fsm(true);
  fsm.contend();
  fsm.on_granted(fsm.attempt());
  fsm.on_finished(fsm.attempt());
  fsm.on_granted(fsm.attempt());
  EXPECT_TRUE(fsm.on_finished(fsm.attempt() - 1).empty());
  EXPECT_EQ(fsm.state(), CandidateState::leading);
}

TEST(ElectionFsm, UntilFailedForGood_WantsLeadership) {
  ElectionFsm fsm(false);
  EXPECT_FALSE(fsm.will_contend());
  fsm.contend();
  EXPECT_TRUE(fsm.will_contend());
  fsm.on_failed(fsm.attempt(), false);
  EXPECT_TRUE(fsm.will_contend()) << "it pauses";
  fsm.on_pause_over(fsm.attempt());
  fsm.on_failed(fsm.attempt(), true);
  EXPECT_FALSE(fsm.will_contend());
}

TEST(ElectionFsm, TransientErrors_DoNotEndTheContention) {
  std::set<Errc> pass;
  for (int code = 1; code <= static_cast<int>(Errc::bad_data); ++code) {
    if (!ends_contention(static_cast<Errc>(code))) pass.insert(static_cast<Errc>(code));
  }
  EXPECT_EQ(pass,
            (std::set<Errc>{Errc::not_connected, Errc::session_expired, Errc::node_deleted,
                            Errc::lock_lost, Errc::quota_exceeded, Errc::read_only,
                            Errc::sequence_exhausted, Errc::node_exists, Errc::too_many_nodes,
                            Errc::too_many_watches, Errc::server_error, Errc::outcome_unknown}));
}

}  // namespace
}  // namespace zklock::core
