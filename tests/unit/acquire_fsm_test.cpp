// SPDX-License-Identifier: Apache-2.0
#include "zklock/core/acquire_fsm.h"

#include <string>

#include <gtest/gtest.h>

#include "acquire_steps.h"

namespace zklock::core::acquire_test {
namespace {

const std::string kOwn = node(5);
const std::string kRemoveOwn = "remove_node lock-0000000005 @a";

TEST(AcquireFsm, Helper_ReachesEveryState) {
  for (const State state : kAllStates) EXPECT_EQ(steps_in(state).state(), state);
}

// Assertions check the invariants of the machines. Only an optimized build for users omits them.
TEST(AcquireFsmDeathTest, RequirementViolated_AssertionEndsTheProgram) {
#ifdef NDEBUG
  GTEST_SKIP() << "this build has no assertions";
#else
  Steps steps = steps_in(State::listing);
  EXPECT_DEATH(steps.withdrawn(), "enqueuing");
#endif
}

// ---- the rows of the table ----------------------------------------------------------------------

TEST(AcquireFsm, StartedTwice_CreatesOnce) {
  Steps steps;
  EXPECT_EQ(steps.start(), "create id1.1");
  EXPECT_EQ(steps.state(), State::enqueuing);
  EXPECT_EQ(steps.start(), "");
  EXPECT_FALSE(steps.fsm().node().exists());
}

TEST(AcquireFsm, Alone_IsGranted) {
  Steps steps = steps_in(State::enqueuing);
  EXPECT_EQ(steps.created(5), "");
  EXPECT_EQ(steps.counted(1), "grant @a");
  EXPECT_EQ(steps.state(), State::granted);
  EXPECT_EQ(steps.fsm().node().name(), kOwn);
  EXPECT_EQ(steps.fsm().node().token().zxid, kTokenOfCreate);
  EXPECT_EQ(steps.fsm().node().session(), kSessionA);
  EXPECT_FALSE(steps.fsm().has_ended());
}

TEST(AcquireFsm, AloneWithoutALease_IsConfirmed) {
  Steps steps = steps_in(State::enqueuing);
  steps.created(5);
  EXPECT_EQ(steps.counted(1, false), "check_own @a");
  EXPECT_EQ(steps.state(), State::confirming);
}

TEST(AcquireFsm, AmongOthers_WatchesPredictedPredecessor) {
  Steps steps = steps_in(State::enqueuing);
  steps.created(5);
  EXPECT_EQ(steps.counted(2), "watch lock-0000000004 @a");
  EXPECT_EQ(steps.state(), State::arming);
}

TEST(AcquireFsm, WithoutAPrediction_Lists) {
  Steps first_name = steps_in(State::enqueuing);
  first_name.created(0);
  EXPECT_EQ(first_name.counted(2), "list @a");

  Steps uncounted = steps_in(State::enqueuing);
  uncounted.created(5);
  EXPECT_EQ(uncounted.counted(Status::no_node), "list @a");

  Steps of_another_session = steps_in(State::enqueuing);
  of_another_session.created(5);
  EXPECT_EQ(of_another_session.counted(1, true, kSessionB), "list @a") << "not even when alone";
  EXPECT_EQ(of_another_session.state(), State::listing);
}

TEST(AcquireFsm, ParentMissing_CreatesParentsAndCreatesAgain) {
  Steps steps = steps_in(State::enqueuing);
  EXPECT_EQ(steps.created(Status::no_node), "");
  EXPECT_EQ(steps.counted(Status::no_node), "create_parents");
  EXPECT_EQ(steps.state(), State::making_parents);
  EXPECT_EQ(steps.parents_created(Status::ok), "create id1.2");
  EXPECT_EQ(steps.state(), State::enqueuing);
}

TEST(AcquireFsm, FirstInTheList_IsGranted) {
  Steps steps = steps_in(State::listing);
  EXPECT_EQ(steps.listed({"config", node(9), kOwn}), "grant @a");
}

TEST(AcquireFsm, FirstInTheListWithoutALease_IsConfirmed) {
  Steps steps = steps_in(State::listing);
  EXPECT_EQ(steps.listed({kOwn}, false), "check_own @a");
  EXPECT_EQ(steps.state(), State::confirming);
}

TEST(AcquireFsm, BehindOthers_WatchesTheNearest) {
  Steps steps = steps_in(State::listing);
  EXPECT_EQ(steps.listed({node(1), node(3), kOwn, node(6)}), "watch lock-0000000003 @a");
  EXPECT_EQ(steps.state(), State::arming);
}

TEST(AcquireFsm, NotInTheList_IsNeverGranted) {
  for (const Children& children : {Children{}, Children{node(6)}, Children{"x-" + kOwn}}) {
    Steps again = steps_in(State::listing);
    EXPECT_EQ(again.listed(children), "create id1.2");
    EXPECT_FALSE(again.fsm().node().exists());
    Steps never = steps_in(State::listing, {.queue_again = false});
    EXPECT_EQ(never.listed(children), node_deleted(kOwn));
    EXPECT_EQ(never.state(), State::ended);
  }
}

TEST(AcquireFsm, WatchArmed_Waits) {
  Steps steps = steps_in(State::arming);
  EXPECT_EQ(steps.watched(data_of("other")), "");
  EXPECT_EQ(steps.state(), State::waiting);
}

TEST(AcquireFsm, PredecessorMissing_ListsAgain) {
  Steps steps = steps_in(State::arming);
  EXPECT_EQ(steps.watched(Status::no_node), "list @a");
  EXPECT_EQ(steps.listed({kOwn}), "grant @a");
}

TEST(AcquireFsm, AnnouncedRelease_IsGranted) {
  Steps steps = steps_in(State::waiting);
  EXPECT_EQ(steps.predecessor_released(), "grant @a");
  Steps late = steps_in(State::waiting);
  EXPECT_EQ(late.predecessor_released(false), "check_own @a");
}

TEST(AcquireFsm, ReleasedByItsOwnClient_IsGranted) {
  Steps steps = steps_in(State::waiting);
  ASSERT_TRUE(steps.fsm().waits_for_announcement());
  EXPECT_EQ(steps.predecessor_released(), "grant @a");
  EXPECT_FALSE(steps.fsm().waits_for_announcement());
  EXPECT_EQ(steps.predecessor_released(), "") << "that is known already";
  Steps late = steps_in(State::waiting);
  EXPECT_EQ(late.predecessor_released(false), "check_own @a");
  EXPECT_EQ(late.predecessor_released(), "");
  EXPECT_FALSE(steps_in(State::arming).fsm().waits_for_announcement());
}

TEST(AcquireFsm, ChangeOfUnannouncedNode_ListsAgain) {
  const std::string promising_elsewhere = "zklock 2\nannounces=1\n";
  for (const std::string& data :
       {std::string(), data_of("other", false), std::string("announces=1\n"), promising_elsewhere,
        std::string("zklock 1\nannounces=yes\n"), std::string(kReleasedData)}) {
    Steps steps = steps_in(State::arming);
    EXPECT_EQ(steps.watched(data), "") << data;
    EXPECT_EQ(steps.predecessor_released(), "list @a") << data;
    EXPECT_EQ(steps.state(), State::listing);
  }
}

// The promise of the previous predecessor does not apply to the next one.
TEST(AcquireFsm, NextPredecessorUnannounced_IsNotTrusted) {
  Steps steps = steps_in(State::waiting);
  EXPECT_EQ(steps.predecessor_deleted(), "list @a");
  EXPECT_EQ(steps.listed({node(2), kOwn}), "watch lock-0000000002 @a");
  steps.watched(data_of("kazoo", false));
  EXPECT_EQ(steps.predecessor_released(), "list @a");
}

TEST(AcquireFsm, PredecessorDeleted_ListsAgain) {
  Steps steps = steps_in(State::waiting);
  EXPECT_EQ(steps.predecessor_deleted(), "list @a");
  EXPECT_EQ(steps.listed({node(3), kOwn}), "watch lock-0000000003 @a");
}

TEST(AcquireFsm, ConfirmedWithALease_IsGranted) {
  Steps steps = steps_in(State::confirming);
  EXPECT_EQ(steps.checked(Status::ok), "grant @a");
  EXPECT_EQ(steps.state(), State::granted);
}

TEST(AcquireFsm, ConfirmedWithoutALease_PausesAndChecksAgain) {
  Steps steps = steps_in(State::confirming);
  for (int i = 0; i < 3; ++i) {
    EXPECT_EQ(steps.checked(Status::ok, false), "pause");
    EXPECT_EQ(steps.state(), State::pausing);
    EXPECT_EQ(steps.resume(), "check_own @a");
    EXPECT_EQ(steps.state(), State::confirming);
  }
  EXPECT_EQ(steps.checked(Status::ok, true), "grant @a");
}

TEST(AcquireFsm, GrantedOrEnded_IsFinal) {
  for (const State state : {State::granted, State::ended}) {
    Steps steps = steps_in(state);
    EXPECT_EQ(steps.start() + steps.created(6) + steps.counted(1) + steps.listed({kOwn}), "");
    EXPECT_EQ(steps.parents_created(Status::ok) + steps.checked(Status::ok), "");
    EXPECT_EQ(steps.inspected(data_of("id1.1")) + steps.watched(data_of("other")), "");
    EXPECT_EQ(steps.parent_removed(Status::ok) + steps.predecessor_released(), "");
    EXPECT_EQ(steps.predecessor_deleted() + steps.session_ended() + steps.own_node_deleted(), "");
    EXPECT_EQ(steps.resume() + steps.withdraw(), "");
    EXPECT_EQ(steps.state(), state);
  }
}

// ---- every state and every reply ---------------------------------------------------------------

const std::string kOwnMarker = "delay-3000-77-0000000005";
const std::string kUnmarkOwn = "remove_node " + kOwnMarker + " @a";
const std::string kRemoveBoth = "remove_node lock-0000000005 and " + kOwnMarker + " @a";

/// Returns the request that repeats the outstanding request of `state`.
std::string request_of(State state) {
  switch (state) {
    case State::enqueuing: return "create id1.2";
    case State::making_parents: return "create_parents";
    case State::proving: return "check_path @a";
    case State::recovering:
    case State::listing: return "list @a";
    case State::inspecting: return "inspect lock-0000000005 @a";
    case State::arming: return "watch lock-0000000004 @a";
    case State::confirming: return "check_own @a";
    case State::removing_path: return "remove_path";
    case State::draining: return "list";
    case State::marking: return "mark " + kOwnMarker + " @a";
    case State::clearing: return "clear delay-7000-70-0000000004 @a";
    default: return "";
  }
}

bool has_node(State state) {
  return state == State::listing || state == State::arming || state == State::confirming ||
         state == State::marking || state == State::clearing;
}

Errc errc_of(Status status) {
  switch (status) {
    case Status::not_connected: return Errc::not_connected;
    case Status::closed: return Errc::closed;
    case Status::no_auth: return Errc::no_auth;
    case Status::auth_failed: return Errc::auth_failed;
    case Status::invalid_acl: return Errc::invalid_acl;
    case Status::quota_exceeded: return Errc::quota_exceeded;
    case Status::read_only: return Errc::read_only;
    case Status::too_many_nodes: return Errc::too_many_nodes;
    case Status::too_many_watches: return Errc::too_many_watches;
    case Status::unknown: return Errc::outcome_unknown;
    case Status::no_node: return Errc::no_node;
    case Status::node_exists: return Errc::node_exists;
    case Status::not_empty: return Errc::not_empty;
    case Status::bad_version: return Errc::version_mismatch;
    default: return Errc::server_error;
  }
}

/// Returns the effects of a status that ends the acquire and deletes the znode.
std::string fatal(State state, Status status) {
  const Errc error = errc_of(status);
  const auto cause = error == Errc::server_error ? core::to_string(status) : "";
  const std::string& removal = state == State::marking ? kRemoveBoth : kRemoveOwn;
  return (has_node(state) ? removal + ", " : "") + failure(error, cause);
}

/// Returns them for the caller. The search for the znode continues, except if the session has
/// ended, too.
std::string fatal_for_caller(State state, Status status) {
  const bool looks_for_node =
      state == State::proving || state == State::recovering || state == State::inspecting;
  const bool session_goes = status == Status::closed || status == Status::auth_failed;
  return fatal(state, status) + (looks_for_node && !session_goes ? ", pause" : "");
}

std::string expected(State state, Status status) {
  const bool needs_the_quorum = state == State::proving;
  switch (status) {
    case Status::unknown: return state == State::enqueuing ? "check_path @a" : request_of(state);
    case Status::session_ended: return "create id1.2";
    case Status::throttled: return "pause";
    case Status::no_node:
      if (state == State::enqueuing) return "create_parents";
      if (state == State::making_parents) return failure(Errc::no_chroot);
      if (state == State::inspecting) return "inspect lock-0000000004 @a";
      if (state == State::marking) return kUnmarkOwn + ", create id1.2";
      if (state == State::recovering) return "remove_late_create id1.1 @a, create id1.2";
      if (state == State::clearing) return "list @a";
      return needs_the_quorum || state == State::arming ? "list @a" : "create id1.2";
    case Status::no_auth:
      if (state == State::inspecting) return "inspect lock-0000000004 @a";
      return needs_the_quorum ? "list @a" : fatal_for_caller(state, status);
    case Status::node_exists:
      if (state == State::marking) return "grant @a";
      return state == State::enqueuing ? "list" : fatal_for_caller(state, status);
    case Status::not_empty:
    case Status::bad_version:
      return state == State::removing_path ? "list" : fatal_for_caller(state, status);
    default: return fatal_for_caller(state, status);
  }
}

TEST(AcquireFsm, EveryReplyInEveryState_HasItsEffect) {
  for (const State state : kAskingStates) {
    for (const Status status : kAllStatuses) {
      // Only abandoned requests are not sent.
      if (status == Status::ok || status == Status::not_sent) continue;
      Steps steps = steps_in(state);
      const std::string wanted = expected(state, status);
      EXPECT_EQ(steps.answer(status), wanted)
          << to_string(state) << ", " << core::to_string(status);
      const bool ends = wanted.find("fail") != std::string::npos;
      EXPECT_EQ(steps.fsm().has_ended(), ends && !wanted.ends_with("pause"));
    }
  }
}

TEST(AcquireFsm, ThrottledRequest_IsRepeatedAfterAPause) {
  for (const State state : kAskingStates) {
    Steps steps = steps_in(state);
    steps.answer(Status::throttled);
    EXPECT_EQ(steps.state(), State::pausing) << to_string(state);
    EXPECT_EQ(steps.resume(), request_of(state)) << to_string(state);
    EXPECT_EQ(steps.state(), state);
    EXPECT_EQ(steps.resume(), "") << "it is not pausing any more";
  }
}

TEST(AcquireFsm, SessionEnded_FailsByPolicyOnlyIfNodeMayExist) {
  for (const State state : kAskingStates) {
    Steps steps = steps_in(state, {.queue_again = false});
    const bool never_was = state == State::enqueuing || state == State::making_parents ||
                           state == State::removing_path || state == State::draining;
    EXPECT_EQ(steps.answer(Status::session_ended),
              never_was ? "create id1.2" : failure(Errc::session_expired))
        << to_string(state);
  }
}

TEST(AcquireFsm, FailureDetail_BecomesTheCause) {
  Steps steps = steps_in(State::listing);
  EXPECT_EQ(steps.listed(Status::server_error, "ZBADARGUMENTS"),
            kRemoveOwn + ", " + failure(Errc::server_error, "ZBADARGUMENTS"));
  EXPECT_EQ(steps_in(State::enqueuing).answer(Status::no_auth, "why"),
            failure(Errc::no_auth, "why"));
}

// A reply to another request, or a second reply, has no effect.
TEST(AcquireFsm, UnexpectedReply_HasNoEffect) {
  for (const State state : kAllStates) {
    Steps steps = steps_in(state);
    std::string effects = steps.start();
    if (state == State::idle) continue;
    if (state != State::enqueuing) effects += steps.created(9) + steps.counted(1);
    if (!awaits_done(state)) effects += steps.checked(Status::ok);
    if (state != State::recovering && state != State::listing && state != State::draining) {
      effects += steps.listed({kOwn});
    }
    if (state != State::inspecting) effects += steps.inspected(data_of("id1.1"));
    if (state != State::arming) effects += steps.watched(data_of("other"));
    if (state != State::waiting) effects += steps.predecessor_released();
    if (state != State::waiting) effects += steps.predecessor_deleted();
    if (state != State::pausing) effects += steps.resume();
    EXPECT_EQ(effects, "") << to_string(state);
    EXPECT_EQ(steps.state(), state);
  }
}

}  // namespace
}  // namespace zklock::core::acquire_test
