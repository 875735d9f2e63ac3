// SPDX-License-Identifier: Apache-2.0
#include <chrono>
#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "conformance/call_forms.h"
#include "conformance/interruption.h"
#include "conformance/lock_test.h"

namespace zklock::testing {
namespace {

using ::testing::HasSubstr;

class GuardedTransactionTest : public LockTest {
 protected:
  void SetUp() override {
    ASSERT_EQ(raw().create("/old", "1").rc, ZOK);
    ASSERT_EQ(raw().create("/removed").rc, ZOK);
  }
  std::string data(const std::string& path) { return raw().get_data(path).data; }
  bool exists(const std::string& path) { return raw().exists(path).rc == ZOK; }
  // Adds writes that must not be committed.
  GuardedTransaction& writes(GuardedTransaction& tx) {
    return tx.create("/new", "n").set("/old", "2").remove("/removed");
  }
  void expect_nothing_written() {
    EXPECT_FALSE(exists("/new"));
    EXPECT_EQ(data("/old"), "1");
    EXPECT_TRUE(exists("/removed"));
  }

  std::unique_ptr<Client> client_ = connect();
  ReentrantMutex mutex_{*client_, kPath};
};

TEST_F(GuardedTransactionTest, HoldIsValid_AllWritesAreAtomic) {
  const Hold hold = mutex_.acquire();
  GuardedTransaction tx(hold);
  tx.create("/new", "n")
      .create("/new/below")
      .set("/old", "2", 0)
      .check("/old", 1)
      .set("/old", "3")
      .remove("/removed", 0);
  tx.commit();
  const auto created = raw().get_data("/new");
  EXPECT_EQ(created.data, "n");
  EXPECT_EQ(created.stat.ephemeralOwner, 0);
  EXPECT_TRUE(exists("/new/below"));
  EXPECT_EQ(data("/old"), "3");
  EXPECT_EQ(raw().get_data("/old").stat.mzxid, created.stat.czxid) << "at one moment";
  EXPECT_FALSE(exists("/removed"));
  EXPECT_EQ(hold.state(), HoldState::held);
}

TEST_F(GuardedTransactionTest, CommittedAgain_SendsItsWritesAgain) {
  const Hold hold = mutex_.acquire();
  GuardedTransaction tx(hold);
  tx.set("/old", "2", 0);
  tx.commit();
  EXPECT_EQ(error_of([&] { tx.commit(); }), Errc::version_mismatch);
  GuardedTransaction moved(std::move(tx));
  EXPECT_EQ(error_of([&] { moved.commit(); }), Errc::version_mismatch);
  GuardedTransaction other(hold);
  other.set("/old", "3");
  moved = std::move(other);
  moved.commit();
  moved.commit();
  EXPECT_EQ(raw().get_data("/old").stat.version, 3);
}

TEST_F(GuardedTransactionTest, RefusedWrite_ErrorNamesTheZnodeAndNothingIsWritten) {
  ASSERT_EQ(raw().create("/full").rc, ZOK);
  ASSERT_EQ(raw().create("/full/child").rc, ZOK);
  ACL read_only[] = {{ZOO_PERM_READ, ZOO_ANYONE_ID_UNSAFE}};
  ASSERT_EQ(raw().create("/theirs", "1", 0, ACL_vector{1, read_only}).rc, ZOK);
  const Hold hold = mutex_.acquire();
  using Add = std::function<void(GuardedTransaction&)>;
  struct Case {
    Add add;
    Errc code;
    std::string text;
  };
  const std::vector<Case> cases = {
      {[](auto& tx) { tx.create("/old", "x"); }, Errc::node_exists,
       "create /old: the node exists already"},
      {[](auto& tx) { tx.create("/none/x"); }, Errc::no_node,
       "create /none/x: the parent does not exist"},
      {[](auto& tx) { tx.set("/none", ""); }, Errc::no_node, "set /none: the node does not exist"},
      {[](auto& tx) { tx.set("/old", "", 7); }, Errc::version_mismatch, "set /old: "},
      {[](auto& tx) { tx.remove("/full"); }, Errc::not_empty,
       "remove /full: the node has children"},
      {[](auto& tx) { tx.remove("/old", 0); }, Errc::version_mismatch, "remove /old: "},
      {[](auto& tx) { tx.check("/old", 0); }, Errc::version_mismatch, "check /old: "},
      {[](auto& tx) { tx.check("/none", -1); }, Errc::no_node, "check /none: "},
      {[&](auto& tx) { tx.create(hold.node() + "/x"); }, Errc::server_error,
       " is an ephemeral znode, which cannot have children"},
      {[](auto& tx) { tx.set("/theirs", "2"); }, Errc::no_auth,
       "set /theirs: the ACL of /theirs does not permit WRITE without a credential; set "
       "ClientOptions::digest [no_auth]"},
  };
  for (const Case& refused : cases) {
    GuardedTransaction tx(hold);
    tx.create("/new", "n").set("/old", "2");
    refused.add(tx);
    tx.remove("/removed");
    try {
      tx.commit();
      ADD_FAILURE() << refused.text;
    } catch (const Error& error) {
      EXPECT_EQ(error.errc(), refused.code) << error.what();
      EXPECT_THAT(error.what(), HasSubstr(refused.text));
      EXPECT_THAT(error.what(), HasSubstr(error.path()));
    }
    expect_nothing_written();
  }
  EXPECT_EQ(hold.state(), HoldState::held) << "the lock has nothing to do with it";
}

TEST_F(GuardedTransactionTest, OneOfTwoHoldsIsReleased_Commits) {
  Hold first = mutex_.acquire();
  const Hold second = mutex_.acquire();
  GuardedTransaction nested(first);
  nested.set("/old", "2");
  first.release();
  nested.commit();  // the owner still has the second hold
  EXPECT_EQ(data("/old"), "2");
}

TEST_F(GuardedTransactionTest, SecondGuardIsLost_NothingIsWritten) {
  ReentrantMutex other_mutex(*client_, "/other");
  const Hold hold = mutex_.acquire();
  const Hold other = other_mutex.acquire();
  GuardedTransaction tx(hold);
  tx.also_guarded_by(other).set("/old", "2");
  tx.commit();
  EXPECT_EQ(data("/old"), "2");

  tx.create("/old");  // the error names the failed operation, also after two guards
  EXPECT_THAT(error_text_of([&] { tx.commit(); }), HasSubstr("create /old: "));
  GuardedTransaction both(hold);
  both.also_guarded_by(other).set("/old", "3");
  ASSERT_EQ(raw().delete_node(other.node()), ZOK);
  try {
    both.commit();
    ADD_FAILURE();
  } catch (const Error& error) {
    EXPECT_EQ(error.errc(), Errc::lock_lost);
    EXPECT_EQ(error.path(), "/other");
  }
  EXPECT_EQ(data("/old"), "2");
}

TEST_F(GuardedTransactionTest, InvalidInput_IsRefusedAndNothingIsWritten) {
  EXPECT_EQ(error_of([] { return GuardedTransaction(Hold()); }), Errc::not_owner);
  Hold hold = mutex_.acquire();
  GuardedTransaction tx(hold);
  EXPECT_EQ(error_of([&] { tx.also_guarded_by(Hold()); }), Errc::not_owner);
  const auto other_client = connect();
  ReentrantMutex other_mutex(*other_client, "/other");
  const Hold other = other_mutex.acquire();
  EXPECT_EQ(error_of([&] { tx.also_guarded_by(other); }), Errc::invalid_option);

  for (const std::string path : {"", "a", "/a/", "/a//b", "/./a", "/a/..", "/a\n", "/\xFF"}) {
    EXPECT_EQ(error_of([&] { tx.create(path); }), Errc::invalid_path) << path;
    EXPECT_EQ(error_of([&] { tx.set(path, ""); }), Errc::invalid_path) << path;
    EXPECT_EQ(error_of([&] { tx.remove(path); }), Errc::invalid_path) << path;
    EXPECT_EQ(error_of([&] { tx.check(path, 0); }), Errc::invalid_path) << path;
  }
  EXPECT_EQ(error_of([&] { tx.create("/"); }), Errc::invalid_path);
  EXPECT_EQ(error_of([&] { tx.remove("/"); }), Errc::invalid_path);
  EXPECT_EQ(error_of([&] { tx.set("/old", "", -2); }), Errc::invalid_option);
  EXPECT_EQ(error_of([&] { tx.remove("/old", -2); }), Errc::invalid_option);
  EXPECT_EQ(error_of([&] { tx.check("/old", -2); }), Errc::invalid_option);
  tx.commit();  // an empty transaction
  expect_nothing_written();

  // Only the lock itself writes a lock znode.
  const std::vector<std::function<void(GuardedTransaction&)>> trespasses = {
      [&](auto& t) { t.create(hold.node()); }, [&](auto& t) { t.set(hold.node(), "released"); },
      [&](auto& t) { t.remove(hold.node()); }};
  for (const auto& trespass : trespasses) {
    GuardedTransaction wrong(hold);
    writes(wrong);
    trespass(wrong);
    EXPECT_EQ(error_of([&] { wrong.commit(); }), Errc::invalid_path);
  }
  GuardedTransaction large(hold);
  writes(large).set("/old", std::string(1'000'000, 'x'));
  EXPECT_EQ(error_of([&] { large.commit(); }), Errc::too_large);
  expect_nothing_written();

  GuardedTransaction allowed(hold);
  allowed.check(hold.node(), -1)
      .set("/", "the chroot's own")
      .set("/old", std::string(900'000, 'x'));
  allowed.commit();
  EXPECT_EQ(data("/"), "the chroot's own");
  EXPECT_EQ(hold.state(), HoldState::held);
}

TEST_F(GuardedTransactionTest, CreatedZnodes_HaveTheAclOfParents) {
  ClientOptions team = options();
  team.digest = DigestCredential{"team", "a secret"};
  team.acl = AclPolicy::creator_all();
  const auto client = connect(team);
  ReentrantMutex mutex(*client, "/theirs");
  const Hold hold = mutex.acquire();
  GuardedTransaction tx(hold);
  tx.create("/new");
  tx.commit();
  EXPECT_EQ(raw().get_data("/new").rc, ZNOAUTH);
  raw().add_digest("team:a secret");
  EXPECT_EQ(raw().get_acl("/new").entries, raw().get_acl("/theirs").entries);
}

TEST_F(GuardedTransactionTest, HandlerFutureAndCoroutine_HaveEqualOutcomes) {
  Hold hold = mutex_.acquire();
  GuardedTransaction tx(hold);
  tx.set("/old", "1");
  const auto expect = [&](const AcquireOutcome& outcome) {
    expect_in_every_form(
        outcome, [&] { tx.commit(); },
        [&](auto... handler) { return tx.async_commit(std::move(handler)...); },
        [&] { return tx.co_commit(); });
  };
  expect(AcquireOutcome());
  hold.release();
  expect(Errc::lock_lost);
  client_->close();
  EXPECT_EQ(error_of([&] { tx.commit(); }), Errc::closed);
  EXPECT_EQ(error_of([&] { tx.async_commit([](const auto&) {}); }), Errc::closed);
  auto future = tx.async_commit();
  EXPECT_EQ(error_of([&] { get(future); }), Errc::closed);
}

class GuardedTransactionFaults : public OwnServerTest {};

TEST_F(GuardedTransactionFaults, InterruptedCommit_ReturnsAtOnceAndIsNotSentLater) {
  ASSERT_EQ(raw().create("/old", "1").rc, ZOK);
  FaultProxy door({server_.port()});
  const auto client = connect(options_by(door));
  const Hold hold = ReentrantMutex(*client, kPath).acquire();
  GuardedTransaction tx(hold);
  tx.set("/old", "2");
  server_.kill();
  ASSERT_TRUE(eventually([&] { return hold.state() == HoldState::suspended; }, kTestTimeout));
  EXPECT_TRUE(ends_by_interruption([&] { tx.commit(); }));
  start_behind(door, server_);
  GuardedTransaction last(hold);
  last.check("/old", 0);
  last.commit();  // an abandoned transaction would have been executed before
}

}  // namespace
}  // namespace zklock::testing
