// SPDX-License-Identifier: Apache-2.0
// The znodes of a leader and of its value are deleted when the leadership ends.
#include <string>

#include <gtest/gtest.h>

#include "tests/model/election_fixture.h"
#include "tests/model/lock_world.h"
#include "zklock/core/child_nodes.h"

namespace zklock::model {
namespace {

using Kind = OperationKind;

TEST(ElectionModel, AllClosed_NothingIsLeft) {
  ElectionWorld election;
  election.proclaimed_by_leader("a");
  EXPECT_EQ(election.world().client(ElectionWorld::kObserver).server_watches(), 2U);
  election.proclaim(election.leadership(0), "b");  // in flight during close()
  for (const auto& candidate : election.candidates) candidate->close();
  election.observer->stop();
  election.world().run_for(2s);
  EXPECT_EQ(election.results.back()->outcomes, 1);
  EXPECT_EQ(election.lock.violation_at_rest(), "");
  EXPECT_EQ(election.ensemble().find(ElectionWorld::proclaimed_node(election.leadership(0))),
            nullptr);
  EXPECT_EQ(election.world().client(0).requests(Kind::remove), 0U)
      << "it goes with the leader's node";
}

TEST(ElectionModel, Resign_DeletesZnodesInOneTransaction) {
  for (const bool connection_breaks : {false, true}) {
    ElectionWorld election;
    const Leadership leader = election.proclaimed_by_leader("a");
    election.world().client(0).reset_counts();
    if (connection_breaks) election.world().lose_reply(0);
    election.candidates[0]->close();
    bool is_there = true;
    for (int i = 0; i < 200 && !election.world().steps().empty(); ++i) {
      election.world().run(election.world().steps().front());
      is_there = election.ensemble().find(leader.node()) != nullptr;
      ASSERT_EQ(election.ensemble().find(ElectionWorld::proclaimed_node(leader)) != nullptr,
                is_there);
    }
    election.world().run_for(1s);
    EXPECT_FALSE(is_there);
    EXPECT_EQ(election.violation, "");
    EXPECT_EQ(election.world().client(0).requests(Kind::get) > 0, connection_breaks) << "it looks";
    if (!connection_breaks) {
      EXPECT_EQ(election.world().client(0).requests(Kind::transaction), 1U);
      EXPECT_EQ(election.world().client(0).requests(Kind::remove), 0U);
    }
  }
}

// A repeated create of the value's znode can arrive after the leader's znode was to be deleted.
TEST(ElectionModel, ValueZnodeCreatedDuringResign_IsDeleted) {
  ElectionWorld election;
  const Leadership leader = election.proclaimed_by_leader("a");
  const std::string proclamation_writer = ElectionWorld::proclaimed_node(leader);
  ASSERT_EQ(election.ensemble().remove(proclamation_writer), Status::ok);
  election.candidates[0]->close();
  const SimCoordinator& client = election.world().client(0);
  const auto sent_alone = [&client] {
    return client.requests(Kind::remove) + client.requests(Kind::announce_and_delete);
  };
  for (int i = 0; i < 50 && sent_alone() == 0; ++i) {
    election.world().run(election.world().steps().front());
  }
  ASSERT_NE(election.ensemble().find(leader.node()), nullptr) << "not with what is not there";
  ASSERT_EQ(election.ensemble().create(proclamation_writer, {}, client.session()), Status::ok);
  election.world().run_for(1s);
  EXPECT_EQ(election.ensemble().find(leader.node()), nullptr);
  EXPECT_EQ(election.ensemble().find(proclamation_writer), nullptr);
}

// A check's reply concerns one znode only, not the znodes that are deleted with it.
TEST(ElectionModel, OutcomeUnknown_EachZnodeIsCheckedOnce) {
  ElectionWorld election;
  const Leadership leader = election.proclaimed_by_leader("a");
  election.world().client(0).reset_counts();
  election.world().fail_next(0, Kind::transaction, Status::unknown, true);
  election.candidates[0]->close();
  election.world().run_all();
  EXPECT_EQ(election.ensemble().find(leader.node()), nullptr);
  EXPECT_EQ(election.ensemble().find(ElectionWorld::proclaimed_node(leader)), nullptr);
  EXPECT_EQ(election.world().client(0).requests(Kind::check), 2U) << "of each node once";
}

// The path was recreated while the reply to a release was lost. The next leader's value has the old
// name. It is not deleted with the first leader's value.
TEST(ElectionModel, ValueOfOtherLeaderOfSameName_IsNotDeleted) {
  for (const bool by_hand : {false, true}) {
    SCOPED_TRACE(by_hand ? "by hand" : "a lost answer");
    ElectionWorld election;
    const Leadership leader = election.proclaimed_by_leader("a");
    const std::string proclamation_writer = ElectionWorld::proclaimed_node(leader);
    if (by_hand) {
      ASSERT_EQ(election.ensemble().remove(leader.node()), Status::ok);
      ASSERT_EQ(election.ensemble().remove(proclamation_writer), Status::ok);
    } else {
      election.world().lose_reply(0);
      election.candidates[0]->close();
      election.world().run({Step::Kind::serve, 0});
      ASSERT_EQ(election.ensemble().find(leader.node()), nullptr);
    }
    const core::Proclamation next{{leader.token().zxid + 1000}, "another's"};
    ASSERT_EQ(election.ensemble().create(proclamation_writer, next.encode()), Status::ok);
    election.world().run_for(5s);
    const Node* const there = election.ensemble().find(proclamation_writer);
    ASSERT_NE(there, nullptr);
    EXPECT_EQ(there->data, next.encode());
    ASSERT_EQ(election.ensemble().remove(proclamation_writer), Status::ok);
  }
}

}  // namespace
}  // namespace zklock::model
