// SPDX-License-Identifier: Apache-2.0
// The znodes of a leader and of its value are deleted when the leadership ends.
#include <string>

#include <gtest/gtest.h>

#include "tests/model/election_fixture.h"
#include "tests/model/lock_world.h"
#include "zklock/core/proclamation.h"
#include "zklock/recipes/election/candidate.h"
#include "zklock/recipes/election/proclamation_writer.h"
#include "zklock/recipes/observe/queue_observer.h"

namespace zklock::model {
namespace {

using Kind = OperationKind;

TEST(ElectionModel, AllClosed_NothingIsLeft) {
  Polls polls;
  polls.proclaim(polls.leadership(0), "a");
  polls.world().run_for(1s);
  EXPECT_EQ(polls.world().client(Polls::kObserver).server_watches(), 2U);
  polls.proclaim(polls.leadership(0), "b");  // in flight during close()
  for (const auto& candidate : polls.candidates) candidate->close();
  polls.observer->stop();
  polls.world().run_for(2s);
  EXPECT_EQ(polls.verdicts.back()->outcomes, 1);
  EXPECT_EQ(polls.lock.violation_at_rest(), "");
  EXPECT_EQ(polls.ensemble().find(Polls::proclamation_writer(polls.leadership(0))), nullptr);
  EXPECT_EQ(polls.world().client(0).requests(Kind::remove), 0U) << "it goes with the leader's node";
}

TEST(ElectionModel, Resign_DeletesZnodesInOneTransaction) {
  for (const bool connection_breaks : {false, true}) {
    Polls polls;
    const Leadership leader = polls.leadership(0);
    polls.proclaim(leader, "a");
    polls.world().run_for(1s);
    polls.world().client(0).reset_counts();
    if (connection_breaks) polls.world().lose_reply(0);
    polls.candidates[0]->close();
    bool is_there = true;
    for (int i = 0; i < 200 && !polls.world().steps().empty(); ++i) {
      polls.world().run(polls.world().steps().front());
      is_there = polls.ensemble().find(leader.node()) != nullptr;
      ASSERT_EQ(polls.ensemble().find(Polls::proclamation_writer(leader)) != nullptr, is_there);
    }
    polls.world().run_for(1s);
    EXPECT_FALSE(is_there);
    EXPECT_EQ(polls.violation, "");
    EXPECT_EQ(polls.world().client(0).requests(Kind::get) > 0, connection_breaks) << "it looks";
    if (!connection_breaks) {
      EXPECT_EQ(polls.world().client(0).requests(Kind::transaction), 1U);
      EXPECT_EQ(polls.world().client(0).requests(Kind::remove), 0U);
    }
  }
}

// A repeated create of the value's znode can arrive after the leader's znode was to be deleted.
TEST(ElectionModel, ValueZnodeCreatedDuringResign_IsDeleted) {
  Polls polls;
  const Leadership leader = polls.leadership(0);
  const std::string proclamation_writer = Polls::proclamation_writer(leader);
  polls.proclaim(leader, "a");
  polls.world().run_for(1s);
  ASSERT_EQ(polls.ensemble().remove(proclamation_writer), Status::ok);
  polls.candidates[0]->close();
  const SimCoordinator& client = polls.world().client(0);
  const auto sent_alone = [&client] {
    return client.requests(Kind::remove) + client.requests(Kind::announce_and_delete);
  };
  for (int i = 0; i < 50 && sent_alone() == 0; ++i) {
    polls.world().run(polls.world().steps().front());
  }
  ASSERT_NE(polls.ensemble().find(leader.node()), nullptr) << "not with what is not there";
  ASSERT_EQ(polls.ensemble().create(proclamation_writer, {}, client.session()), Status::ok);
  polls.world().run_for(1s);
  EXPECT_EQ(polls.ensemble().find(leader.node()), nullptr);
  EXPECT_EQ(polls.ensemble().find(proclamation_writer), nullptr);
}

// A check's reply concerns one znode only, not the znodes that are deleted with it.
TEST(ElectionModel, OutcomeUnknown_EachZnodeIsCheckedOnce) {
  Polls polls;
  const Leadership leader = polls.leadership(0);
  polls.proclaim(leader, "a");
  polls.world().run_for(1s);
  polls.world().client(0).reset_counts();
  polls.world().fail_next(0, Kind::transaction, Status::unknown, true);
  polls.candidates[0]->close();
  polls.world().run_all();
  EXPECT_EQ(polls.ensemble().find(leader.node()), nullptr);
  EXPECT_EQ(polls.ensemble().find(Polls::proclamation_writer(leader)), nullptr);
  EXPECT_EQ(polls.world().client(0).requests(Kind::check), 2U) << "of each node once";
}

// The path was recreated while the reply to a release was lost. The next leader's value has the old
// name. It is not deleted with the first leader's value.
TEST(ElectionModel, ValueOfOtherLeaderOfSameName_IsNotDeleted) {
  for (const bool by_hand : {false, true}) {
    SCOPED_TRACE(by_hand ? "by hand" : "a lost answer");
    Polls polls;
    const Leadership leader = polls.leadership(0);
    const std::string proclamation_writer = Polls::proclamation_writer(leader);
    polls.proclaim(leader, "a");
    polls.world().run_for(1s);
    if (by_hand) {
      ASSERT_EQ(polls.ensemble().remove(leader.node()), Status::ok);
      ASSERT_EQ(polls.ensemble().remove(proclamation_writer), Status::ok);
    } else {
      polls.world().lose_reply(0);
      polls.candidates[0]->close();
      polls.world().run({Step::Kind::serve, 0});
      ASSERT_EQ(polls.ensemble().find(leader.node()), nullptr);
    }
    const core::Proclamation next{{leader.token().zxid + 1000}, "another's"};
    ASSERT_EQ(polls.ensemble().create(proclamation_writer, next.encode()), Status::ok);
    polls.world().run_for(5s);
    const Node* const there = polls.ensemble().find(proclamation_writer);
    ASSERT_NE(there, nullptr);
    EXPECT_EQ(there->data, next.encode());
    ASSERT_EQ(polls.ensemble().remove(proclamation_writer), Status::ok);
  }
}

TEST(ElectionModel, LeaderZnodeDeletedByHand_ValueIsDeleted) {
  Polls polls;
  const Leadership leader = polls.leadership(0);
  polls.proclaim(leader, "a");
  polls.world().run_for(1s);
  ASSERT_EQ(polls.ensemble().remove(leader.node()), Status::ok);
  polls.world().run_for(1s);
  EXPECT_EQ(polls.ensemble().find(Polls::proclamation_writer(leader)), nullptr);
}

}  // namespace
}  // namespace zklock::model
