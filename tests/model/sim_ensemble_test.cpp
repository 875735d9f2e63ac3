// SPDX-License-Identifier: Apache-2.0
#include "zklock/testing/simulation/sim_ensemble.h"

#include <limits>

#include <gtest/gtest.h>

#include "tests/model/recorder.h"
#include "zklock/testing/simulation/sim_dispatcher.h"

namespace zklock::model {
namespace {

using namespace std::chrono_literals;
using namespace client::request;

constexpr std::int32_t kLastSequence = std::numeric_limits<std::int32_t>::max();

class SimEnsembleTest : public ::testing::Test, public SimEnsemble::Server {
 protected:
  SimEnsembleTest() {
    ensemble.attach(*this);
    ensemble.create_container("/p");
    session = ensemble.open_session(6s);
  }
  Reply create(const std::string& parent = "/p") {
    return ensemble.apply(session, CreateContender{parent, "lock-", "data"});
  }
  void on_node_event(const std::string& path, WatchEvent event, const NodeAcl& /*acl*/) override {
    events.push_back(path + " " + to_string(event));
  }
  void on_session_gone(SessionId id) override { ended.push_back(id); }

  SimClock clock;
  SimEnsemble ensemble{clock};
  SessionId session;
  std::vector<std::string> events;
  std::vector<SessionId> ended;
};

TEST(SimClock, SeveralTimers_RunInOrderOfTimeAndSubmission) {
  SimClock clock;
  const Instant start = clock.now();
  std::string ran;
  clock.at(start + 2s, [&] { ran += 'c'; });
  clock.at(start + 1s, [&] { ran += 'a'; });
  const TimerId cancelled = clock.at(start + 1s, [&] { ran += 'x'; });
  clock.at(start + 1s, [&] {
    ran += 'b';
    clock.at(start, [&] { ran += '!'; });  // overdue: runs immediately, not back in time
  });
  clock.cancel(cancelled);
  EXPECT_EQ(clock.next_due(), start + 1s);
  EXPECT_TRUE(clock.run_next());
  EXPECT_EQ(ran, "a");
  clock.advance_to(start + 1500ms);
  EXPECT_EQ(ran, "ab!");
  EXPECT_EQ(clock.now(), start + 1500ms);
  EXPECT_TRUE(clock.run_next());
  EXPECT_FALSE(clock.run_next());
  EXPECT_EQ(ran, "ab!c");
  EXPECT_EQ(clock.next_due(), std::nullopt);
}

TEST(SimClock, ProcessHeld_TimersAreOverdueAfterwards) {
  SimClock clock;
  ProcessClock process(clock, 1);
  const Instant start = clock.now();
  std::string ran;
  process.at(start + 1s, [&] { ran += 'p'; });
  clock.at(start + 2s, [&] { ran += 's'; });
  clock.hold(1);
  clock.advance_to(start + 5s);
  EXPECT_EQ(ran, "s");
  EXPECT_EQ(clock.next_due(), std::nullopt);
  clock.release(1);
  EXPECT_EQ(clock.next_due(), start + 5s);
  clock.advance_to(start + 5s);
  EXPECT_EQ(ran, "sp");
}

TEST(SimDispatcher, Posted_TasksWaitUntilRun) {
  SimDispatcher dispatcher;
  std::string ran;
  dispatcher.post([&] {
    ran += 'a';
    dispatcher.post([&] { ran += 'c'; });
  });
  dispatcher.post([&] { ran += 'b'; });
  EXPECT_EQ(ran, "");
  while (dispatcher.run_next()) {
  }
  EXPECT_EQ(ran, "abc");
}

TEST_F(SimEnsembleTest, SequentialNames_CountCreatesUnderParent) {
  EXPECT_EQ(create().name, "lock-0000000000");
  EXPECT_EQ(ensemble.create("/p/foreign"), Status::ok);  // this create counts, too
  EXPECT_EQ(ensemble.remove("/p/lock-0000000000"), Status::ok);
  EXPECT_EQ(create().name, "lock-0000000002");
}

TEST_F(SimEnsembleTest, ParentDeletedOrRestart_TokensStillIncrease) {
  const Reply first = create();
  ensemble.remove("/p/" + first.name);
  EXPECT_EQ(ensemble.reap_containers(), 1u);
  EXPECT_EQ(create().status, Status::no_node);
  EXPECT_EQ(ensemble.apply(session, CreateParents{"/p"}).status, Status::ok);
  const Reply second = create();
  EXPECT_EQ(second.name, first.name);
  EXPECT_GT(second.token, first.token);
  ensemble.restart();
  EXPECT_GT(create().token, second.token);
  EXPECT_EQ(ensemble.apply(session, Get{"/p/" + second.name}).token, second.token);
}

TEST_F(SimEnsembleTest, CounterAtItsEnd_IsNotIncremented) {
  ensemble.set_counter("/p", kLastSequence);
  EXPECT_EQ(create().name, "lock-2147483647");
  EXPECT_EQ(create().status, Status::node_exists);
  ensemble.remove("/p/lock-2147483647");
  EXPECT_EQ(create().name, "lock-2147483647");
}

TEST_F(SimEnsembleTest, MissingParents_AreCreatedAsContainers) {
  EXPECT_EQ(ensemble.apply(session, CreateParents{"/a/b/c"}).status, Status::ok);
  EXPECT_EQ(ensemble.apply(session, CreateParents{"/a/b/c"}).status, Status::ok);
  EXPECT_TRUE(ensemble.find("/a/b")->container);
  create("/a/b/c");
  EXPECT_EQ(ensemble.reap_containers(), 0u);  // one is in use; "/p" never had children
  ensemble.end_session(session);
  EXPECT_EQ(ensemble.reap_containers(), 3u);
  EXPECT_EQ(ensemble.find("/a"), nullptr);
  EXPECT_NE(ensemble.find("/p"), nullptr);
}

TEST_F(SimEnsembleTest, Reads_ReturnCurrentState) {
  const Reply created = create();
  const Reply got = ensemble.apply(session, Get{"/p/" + created.name});
  EXPECT_EQ(got.data, "data");
  EXPECT_EQ(got.token, created.token);
  EXPECT_EQ(got.ephemeral_owner, session);
  EXPECT_EQ(got.data_length, 4);
  EXPECT_EQ(ensemble.apply(session, ListChildren{"/p"}).data_length, 0);
  EXPECT_EQ(ensemble.apply(session, CountChildren{"/p"}).child_count, 1);
  EXPECT_EQ(ensemble.apply(session, ListChildren{"/p"}).children,
            std::vector<std::string>{created.name});
  for (const Operation& operation :
       {Operation{Get{"/x"}}, Operation{CountChildren{"/x"}}, Operation{ListChildren{"/x"}},
        Operation{GetAndWatch{"/x", {}}}, Operation{Check{"/x"}}, Operation{Delete{"/x"}},
        Operation{AnnounceAndDelete{"/x"}}, Operation{ListAndWatch{"/x", {}}},
        Operation{ExistsAndWatch{"/x", {}}}, Operation{Transaction{"/x", {}}},
        Operation{CreateContender{"/x", "lock-", ""}}}) {
    EXPECT_EQ(ensemble.apply(session, operation).status, Status::no_node);
  }
  EXPECT_EQ(ensemble.apply(session, Delete{"/p"}).status, Status::not_empty);
  EXPECT_EQ(ensemble.create("/p/" + created.name + "/below"), Status::server_error);
}

TEST_F(SimEnsembleTest, AclSet_SendsNoEventAndPermits) {
  const std::string path = "/p/" + create().name;
  const Reply before = ensemble.apply(session, CountChildren{"/p"});
  events.clear();
  ASSERT_EQ(ensemble.set_acl("/p", {.everyone = AclEntry::read}), Status::ok);
  EXPECT_TRUE(events.empty());
  EXPECT_EQ(create().status, Status::no_auth);
  EXPECT_EQ(ensemble.apply(session, Delete{path}).status, Status::no_auth);
  const Reply after = ensemble.apply(session, ListChildren{"/p"});
  EXPECT_EQ(after.token, before.token);
  EXPECT_EQ(after.version, before.version);
  EXPECT_EQ(after.pzxid, before.pzxid);
  ensemble.set_acl("/p", {.everyone = AclEntry::all & ~AclEntry::read});
  EXPECT_EQ(ensemble.apply(session, ListChildren{"/p"}).status, Status::no_auth);
  EXPECT_EQ(ensemble.apply(session, Delete{path}).status, Status::ok);
  EXPECT_EQ(ensemble.set_acl("/x", {}), Status::no_node);
}

TEST_F(SimEnsembleTest, UnreadableZnode_ExistsFollowsRule) {
  const SessionId other = ensemble.open_session(6s);
  ensemble.set_contenders_readable(false);
  const std::string path = "/p/" + create().name;
  EXPECT_EQ(ensemble.exists_rule(), ExistsRule::needs_read);
  for (const ExistsRule rule : {ExistsRule::needs_nothing, ExistsRule::needs_read}) {
    ensemble.set_exists_rule(rule);
    const Status expected = rule == ExistsRule::needs_nothing ? Status::ok : Status::no_auth;
    for (const std::string& each : {path, std::string("/p/none")}) {
      const bool exists = each == path;
      for (const Operation& operation :
           {Operation{CountChildren{each}}, Operation{ExistsAndWatch{each, {}}}}) {
        EXPECT_EQ(ensemble.apply(other, operation).status, exists ? expected : Status::no_node);
        EXPECT_EQ(ensemble.apply(session, operation).status, exists ? Status::ok : Status::no_node);
      }
    }
    EXPECT_EQ(ensemble.apply(other, Get{path}).status, Status::no_auth);
    EXPECT_EQ(ensemble.apply(other, Check{path}).status, Status::no_auth);
    EXPECT_EQ(ensemble.apply(other, ListChildren{"/p"}).children.size(), 1U);
  }
}

TEST_F(SimEnsembleTest, Check_ChangesNothing) {
  const std::int64_t zxid = ensemble.last_zxid();
  events.clear();
  EXPECT_EQ(ensemble.apply(session, Check{"/p"}).status, Status::ok);
  EXPECT_EQ(ensemble.last_zxid(), zxid);
  EXPECT_TRUE(events.empty());
}

TEST_F(SimEnsembleTest, AnnouncedDelete_IsOneTransaction) {
  const std::string path = "/p/" + create().name;
  const std::int64_t zxid = ensemble.last_zxid();
  events.clear();
  EXPECT_EQ(ensemble.apply(session, AnnounceAndDelete{path}).status, Status::ok);
  EXPECT_EQ(ensemble.last_zxid(), zxid + 1);
  EXPECT_EQ(events, (Log{path + " changed", path + " deleted", "/p children"}));
  EXPECT_TRUE(ensemble.ephemerals(session).empty());
}

TEST_F(SimEnsembleTest, Transaction_IsAtomicAndFiresAllEvents) {
  const std::string own = "/p/" + create().name;
  ensemble.create("/old", "1");
  ensemble.create("/deleted");
  events.clear();
  const std::int64_t zxid = ensemble.last_zxid();
  const Transaction writes{
      own,
      {write::Create{"/new", "n"}, write::Create{"/p/mine", "m", true}, write::Set{"/old", "2", 0},
       write::CheckVersion{"/old", 1}, write::Remove{"/deleted", 0}}};
  const Reply reply = ensemble.apply(session, writes);
  EXPECT_EQ(reply.status, Status::ok);
  EXPECT_EQ(reply.failed_operation, -1);
  EXPECT_EQ(ensemble.last_zxid(), zxid + 1);
  EXPECT_EQ(ensemble.find("/new")->owner, SessionId{});
  EXPECT_EQ(ensemble.find("/p/mine")->owner, session);
  EXPECT_EQ(ensemble.find("/p/mine")->czxid, ensemble.find("/new")->czxid);
  EXPECT_EQ(ensemble.find("/old")->data, "2");
  EXPECT_EQ(ensemble.apply(session, Get{"/old"}).version, 1);
  EXPECT_EQ(events, (Log{"/new created", "/ children", "/p/mine created", "/p children",
                         "/old changed", "/deleted deleted", "/ children"}));
  // A transaction without a change has no zxid.
  EXPECT_EQ(ensemble.apply(session, Transaction{own, {}}).status, Status::ok);
  EXPECT_EQ(ensemble.last_zxid(), zxid + 1);
  EXPECT_EQ(ensemble.apply(session, Transaction{}).status, Status::server_error);
}

TEST_F(SimEnsembleTest, FailedTransaction_ChangesNothingAndNamesOperation) {
  const std::string own = "/p/" + create().name;
  ensemble.create("/old", "1");
  const SessionId other = ensemble.open_session(6s);
  ensemble.create("/theirs", "", other);
  events.clear();
  const std::int64_t zxid = ensemble.last_zxid();
  const std::vector<std::pair<Write, Status>> failing = {
      {write::Create{"/old"}, Status::node_exists},
      {write::Create{"/none/x"}, Status::no_node},
      {write::Set{"/old", "3", 7}, Status::bad_version},
      {write::Set{"/none", ""}, Status::no_node},
      {write::Remove{"/p"}, Status::not_empty},
      {write::Remove{"/old", 0}, Status::bad_version},  // the write before it makes the version 1
      {write::CheckVersion{"/old", 0}, Status::bad_version},
      {write::CheckVersion{"/none"}, Status::no_node},
  };
  for (const auto& [write, status] : failing) {
    for (const std::string& guard : {own, std::string()}) {
      const Transaction transaction{guard,
                                    {write::Create{"/p/mine", "", true}, write::Remove{"/theirs"},
                                     write::Set{"/old", "2"}, write}};
      const Reply reply = ensemble.apply(session, transaction);
      EXPECT_EQ(reply.status, status);
      EXPECT_EQ(reply.failed_operation, guard.empty() ? 3 : 4);
    }
  }
  const Reply unguarded = ensemble.apply(session, Transaction{"/p/x", {write::Create{"/new"}}});
  EXPECT_EQ(unguarded.status, Status::no_node);
  EXPECT_EQ(unguarded.failed_operation, 0);
  EXPECT_EQ(ensemble.find("/new"), nullptr);
  EXPECT_EQ(ensemble.find("/p/mine"), nullptr);
  EXPECT_EQ(ensemble.find("/old")->data, "1");
  EXPECT_EQ(ensemble.ephemerals(session), std::vector<std::string>{own});
  EXPECT_EQ(ensemble.ephemerals(other), std::vector<std::string>{"/theirs"});
  EXPECT_EQ(ensemble.last_zxid(), zxid);
  EXPECT_TRUE(events.empty());
}

TEST_F(SimEnsembleTest, SessionNotTouchedForTimeout_Expires) {
  const Instant start = clock.now();
  create();
  create();
  clock.advance_to(start + 4s);
  ensemble.touch(session);
  clock.advance_to(start + 10s - 1ns);
  EXPECT_TRUE(ensemble.is_alive(session));
  EXPECT_EQ(ensemble.ephemerals(session).size(), 2u);
  events.clear();
  clock.advance_to(start + 10s);
  EXPECT_FALSE(ensemble.is_alive(session));
  EXPECT_EQ(ended, std::vector<SessionId>{session});
  EXPECT_EQ(events, (Log{"/p/lock-0000000000 deleted", "/p children", "/p/lock-0000000001 deleted",
                         "/p children"}));
  EXPECT_EQ(create().status, Status::session_ended);
  EXPECT_EQ(clock.pending(), 0u);
}

TEST_F(SimEnsembleTest, NewTimeout_CountsFromLastTouch) {
  const Instant start = clock.now();
  ensemble.set_timeout(session, 2s);
  const SessionId immortal = ensemble.open_session(0s);
  clock.advance_to(start + 2s);
  EXPECT_FALSE(ensemble.is_alive(session));
  clock.advance_to(start + 24h);
  EXPECT_TRUE(ensemble.is_alive(immortal));
}

TEST_F(SimEnsembleTest, NewLeader_GrantsEachSessionItsFullTimeout) {
  const Instant start = clock.now();
  clock.advance_to(start + 5s);
  ensemble.restart();
  clock.advance_to(start + 10s);
  EXPECT_TRUE(ensemble.is_alive(session));
  clock.advance_to(start + 11s);
  EXPECT_FALSE(ensemble.is_alive(session));
}

}  // namespace
}  // namespace zklock::model
