// SPDX-License-Identifier: Apache-2.0
#include "zklock/core/election_fsm.h"

#include <array>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <tuple>
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
constexpr std::array kEvents{Event::wanted,    Event::granted,   Event::failed,
                             Event::refused,   Event::due,       Event::lost,
                             Event::finished,  Event::broke_off, Event::interrupted,
                             Event::withdrawn, Event::closed};

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

struct Then {
  CandidateState state;
  ElectionEffects effects;
};

// Returns the row of the table in the header, or nothing if the table has no such row.
std::optional<Then> expected(CandidateState state, Event event, bool again) {
  const CandidateState after = again ? CandidateState::contending : CandidateState::idle;
  const CandidateState after_failure = again ? CandidateState::backing_off : CandidateState::idle;
  const auto plus = [&](ElectionEffects effects, ElectionEffect last) {
    if (again) effects.push_back(last);
    return effects;
  };
  const std::map<std::pair<CandidateState, Event>, Then> table{
      {{CandidateState::idle, Event::wanted},
       {CandidateState::contending, {ElectionEffect::contend}}},
      {{CandidateState::idle, Event::closed}, {CandidateState::closed, {}}},
      {{CandidateState::contending, Event::granted},
       {CandidateState::leading, {ElectionEffect::begin}}},
      {{CandidateState::contending, Event::failed},
       {CandidateState::backing_off, {ElectionEffect::pause}}},
      {{CandidateState::contending, Event::refused}, {CandidateState::failed, {}}},
      {{CandidateState::contending, Event::withdrawn},
       {CandidateState::idle, {ElectionEffect::cancel}}},
      {{CandidateState::contending, Event::closed},
       {CandidateState::closed, {ElectionEffect::cancel}}},
      {{CandidateState::backing_off, Event::due},
       {CandidateState::contending, {ElectionEffect::contend}}},
      {{CandidateState::backing_off, Event::withdrawn}, {CandidateState::idle, {}}},
      {{CandidateState::backing_off, Event::closed}, {CandidateState::closed, {}}},
      {{CandidateState::leading, Event::lost}, {CandidateState::ending, {ElectionEffect::stop}}},
      {{CandidateState::leading, Event::interrupted},
       {CandidateState::ending, {ElectionEffect::stop}}},
      {{CandidateState::leading, Event::withdrawn},
       {CandidateState::ending, {ElectionEffect::stop}}},
      {{CandidateState::leading, Event::closed}, {CandidateState::closing, {ElectionEffect::stop}}},
      {{CandidateState::leading, Event::finished},
       {after, plus({ElectionEffect::stop, ElectionEffect::release}, ElectionEffect::contend)}},
      {{CandidateState::leading, Event::broke_off},
       {after_failure,
        plus({ElectionEffect::stop, ElectionEffect::release}, ElectionEffect::pause)}},
      {{CandidateState::ending, Event::broke_off},
       {after_failure, plus({ElectionEffect::release}, ElectionEffect::pause)}},
      {{CandidateState::closing, Event::broke_off},
       {CandidateState::closed, {ElectionEffect::release}}},
      {{CandidateState::ending, Event::closed}, {CandidateState::closing, {}}},
      {{CandidateState::ending, Event::finished},
       {after, plus({ElectionEffect::release}, ElectionEffect::contend)}},
      {{CandidateState::closing, Event::finished},
       {CandidateState::closed, {ElectionEffect::release}}},
      {{CandidateState::failed, Event::wanted},
       {CandidateState::contending, {ElectionEffect::contend}}},
      {{CandidateState::failed, Event::withdrawn}, {CandidateState::idle, {}}},
      {{CandidateState::failed, Event::closed}, {CandidateState::closed, {}}},
  };
  const auto found = table.find({state, event});
  if (found == table.end()) return std::nullopt;
  return found->second;
}

TEST(ElectionFsm, EveryEventInEveryState_FollowsTheTable) {
  for (const bool again : {true, false}) {
    for (const CandidateState state : kStates) {
      for (const Event event : kEvents) {
        SCOPED_TRACE(std::to_string(static_cast<int>(state)) + " " +
                     std::to_string(static_cast<int>(event)) + (again ? " again" : " once"));
        ElectionFsm fsm = in_state(state, again);
        const auto attempt = fsm.attempt();
        const ElectionEffects effects = feed(fsm, event);
        const auto then = expected(state, event, again);
        const ElectionEffects nothing = event == Event::granted
                                            ? ElectionEffects{ElectionEffect::release_late}
                                            : ElectionEffects{};
        EXPECT_EQ(fsm.state(), then ? then->state : state);
        EXPECT_EQ(effects, then ? then->effects : nothing);
        const bool asks = !effects.empty() && effects.back() == ElectionEffect::contend;
        EXPECT_EQ(fsm.attempt(), attempt + (asks ? 1 : 0));
      }
    }
  }
}

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

TEST(ElectionFsm, InterruptedBeforeItsTurn_ContendsOnceMore) {
  ElectionFsm fsm(false);
  fsm.contend();
  fsm.on_granted(fsm.attempt());
  fsm.interrupt();
  EXPECT_EQ(fsm.on_finished(fsm.attempt(), LeaderEnd::not_run),
            (ElectionEffects{ElectionEffect::release, ElectionEffect::contend}));
}

TEST(ElectionFsm, WithdrawnWithoutATurn_DoesNotContend) {
  ElectionFsm fsm(true);
  fsm.contend();
  fsm.on_granted(fsm.attempt());
  fsm.withdraw();
  EXPECT_EQ(fsm.on_finished(fsm.attempt(), LeaderEnd::not_run),
            (ElectionEffects{ElectionEffect::release}));
}

TEST(ElectionFsm, Interrupted_LeadsUntilFinished) {
  ElectionFsm fsm = in_state(CandidateState::leading, true);
  EXPECT_EQ(fsm.interrupt(), ElectionEffects{ElectionEffect::stop});
  EXPECT_TRUE(fsm.interrupt().empty());
  EXPECT_TRUE(fsm.on_lost(fsm.attempt()).empty());
  EXPECT_EQ(fsm.on_finished(fsm.attempt()),
            (ElectionEffects{ElectionEffect::release, ElectionEffect::contend}));
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
