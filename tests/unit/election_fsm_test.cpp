// SPDX-License-Identifier: Apache-2.0
#include "zklock/core/election_fsm.h"

#include <array>
#include <map>
#include <set>
#include <vector>

#include <gtest/gtest.h>

namespace zklock::core {
namespace {

enum class Event {
  wanted,
  granted,
  failed,
  refused,  // failed for good
  due,
  lost,
  finished,
  broke_off,  // finished with a failure
  interrupted,
  withdrawn,
  closed,
};

ElectionEffects feed(ElectionFsm& fsm, Event event, ElectionFsm::Attempt attempt) {
  switch (event) {
    case Event::wanted: return fsm.contend();
    case Event::granted: return fsm.on_granted(attempt);
    case Event::failed: return fsm.on_failed(attempt, false);
    case Event::refused: return fsm.on_failed(attempt, true);
    case Event::due: return fsm.on_pause_over(attempt);
    case Event::lost: return fsm.on_lost(attempt);
    case Event::finished: return fsm.on_finished(attempt);
    case Event::broke_off: return fsm.on_finished(attempt, LeaderEnd::threw);
    case Event::interrupted: return fsm.interrupt();
    case Event::withdrawn: return fsm.withdraw();
    case Event::closed: return fsm.close();
  }
  return {};
}
ElectionEffects feed(ElectionFsm& fsm, Event event) {
  return feed(fsm, event, fsm.attempt());
}

// Returns a machine that reached the state in the fewest steps.
ElectionFsm in_state(CandidateState state, bool again) {
  static const std::map<CandidateState, std::vector<Event>> kWays{
      {CandidateState::idle, {}},
      {CandidateState::contending, {Event::wanted}},
      {CandidateState::backing_off, {Event::wanted, Event::failed}},
      {CandidateState::leading, {Event::wanted, Event::granted}},
      {CandidateState::ending, {Event::wanted, Event::granted, Event::lost}},
      {CandidateState::closing, {Event::wanted, Event::granted, Event::closed}},
      {CandidateState::failed, {Event::wanted, Event::refused}},
      {CandidateState::closed, {Event::closed}},
  };
  ElectionFsm fsm(again);
  for (const Event event : kWays.at(state)) feed(fsm, event);
  EXPECT_EQ(fsm.state(), state);
  return fsm;
}

constexpr std::array kStates{CandidateState::idle,        CandidateState::contending,
                             CandidateState::backing_off, CandidateState::leading,
                             CandidateState::ending,      CandidateState::closing,
                             CandidateState::failed,      CandidateState::closed};

TEST(ElectionFsm, EventOfAnEarlierAttempt_HasNoEffect) {
  for (const CandidateState state : kStates) {
    for (const Event event : {Event::granted, Event::failed, Event::refused, Event::due,
                              Event::lost, Event::finished, Event::broke_off}) {
      ElectionFsm fsm = in_state(state, true);
      if (fsm.attempt() == 0) continue;
      const ElectionEffects effects = feed(fsm, event, fsm.attempt() - 1);
      EXPECT_EQ(fsm.state(), state);
      EXPECT_EQ(effects, event == Event::granted ? ElectionEffects{ElectionEffect::release_late}
                                                 : ElectionEffects{});
    }
  }
}

TEST(ElectionFsm, LostBeforeItsTurn_ContendsOnceMore) {
  ElectionFsm fsm(false);
  fsm.contend();
  fsm.on_granted(fsm.attempt());
  fsm.on_lost(fsm.attempt());
  EXPECT_EQ(fsm.on_finished(fsm.attempt(), LeaderEnd::not_run),
            (ElectionEffects{ElectionEffect::release, ElectionEffect::contend}));
  fsm.on_granted(fsm.attempt());  // the loss has not been notified yet
  EXPECT_TRUE(fsm.on_finished(fsm.attempt() - 1, LeaderEnd::not_run).empty()) << "another's";
  EXPECT_EQ(
      fsm.on_finished(fsm.attempt(), LeaderEnd::not_run),
      (ElectionEffects{ElectionEffect::stop, ElectionEffect::release, ElectionEffect::contend}));
  fsm.on_granted(fsm.attempt());
  EXPECT_EQ(fsm.on_finished(fsm.attempt()),
            (ElectionEffects{ElectionEffect::stop, ElectionEffect::release}));
}

TEST(ElectionFsm, WithdrawnWithoutATurn_DoesNotContend) {
  ElectionFsm fsm(true);
  fsm.contend();
  fsm.on_granted(fsm.attempt());
  fsm.withdraw();
  EXPECT_EQ(fsm.on_finished(fsm.attempt(), LeaderEnd::not_run),
            (ElectionEffects{ElectionEffect::release}));
}

TEST(ElectionFsm, SeveralRequestsWhileLeading_LastDecides) {
  const auto after = [](bool again, const std::vector<Event>& said) {
    ElectionFsm fsm = in_state(CandidateState::leading, again);
    for (const Event event : said) feed(fsm, event);
    const bool wants = fsm.will_contend();
    fsm.on_finished(fsm.attempt());
    EXPECT_EQ(fsm.state(), wants ? CandidateState::contending : CandidateState::idle);
    return wants;
  };
  EXPECT_TRUE(after(true, {}));
  EXPECT_FALSE(after(false, {}));
  EXPECT_TRUE(after(false, {Event::wanted}));
  EXPECT_TRUE(after(false, {Event::lost, Event::wanted}));
  EXPECT_FALSE(after(true, {Event::withdrawn}));
  EXPECT_FALSE(after(true, {Event::lost, Event::withdrawn}));
  EXPECT_TRUE(after(true, {Event::withdrawn, Event::wanted}));
  EXPECT_FALSE(after(false, {Event::wanted, Event::withdrawn}));
  EXPECT_FALSE(after(true, {Event::withdrawn, Event::interrupted}));
}

TEST(ElectionFsm, RequestWhileLeading_AppliesToOneLeadership) {
  ElectionFsm fsm = in_state(CandidateState::leading, false);
  fsm.contend();
  fsm.on_finished(fsm.attempt());
  fsm.on_granted(fsm.attempt());
  EXPECT_FALSE(fsm.will_contend());
  EXPECT_EQ(fsm.on_finished(fsm.attempt()),
            (ElectionEffects{ElectionEffect::stop, ElectionEffect::release}));
}

TEST(ElectionFsm, QueuedOrRepeating_WantsLeadership) {
  const std::set<CandidateState> queued{CandidateState::contending, CandidateState::backing_off};
  const std::set<CandidateState> leading{CandidateState::leading, CandidateState::ending};
  for (const bool again : {true, false}) {
    for (const CandidateState state : kStates) {
      EXPECT_EQ(in_state(state, again).will_contend(),
                queued.contains(state) || (again && leading.contains(state)));
    }
  }
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
