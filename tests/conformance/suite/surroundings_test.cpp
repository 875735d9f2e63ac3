// SPDX-License-Identifier: Apache-2.0
// Foreign znodes, namespaces and access control lists.
#include <future>
#include <memory>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "conformance/suite/suite.h"

namespace zklock::testing {
namespace {

class Foreign : public SuiteTest {};
INSTANTIATE_TEST_SUITE_P(, Foreign,
                         ::testing::ValuesIn(every_class_on({EnvironmentKind::servers,
                                                             EnvironmentKind::simulation})),
                         pairing_name);

TEST_P(Foreign, NonContenderNodes_AreIgnoredAndRetained) {
  const std::vector<std::string> junk = {
      "junk", "lock-", "lock-123", "lock-000000000x", "permits-0000000000", "0000000000"};
  environment().create(kPath);
  for (const std::string& name : junk) environment().create(kPath + "/" + name);
  const auto lock = make(connect());
  {
    const auto hold = acquire(*lock);
    EXPECT_EQ(hold.state(), HoldState::held);
    EXPECT_EQ(lock->participants().size(), 1U);
    EXPECT_FALSE(rival_try_acquire(*lock));
  }
  EXPECT_TRUE(reaches_nodes(junk.size()));
  for (const std::string& name : junk) EXPECT_TRUE(environment().exists(kPath + "/" + name));
}

TEST_P(Foreign, ForeignContender_BlocksUntilDeletedNotChanged) {
  Client& client = connect();
  const auto lock = make(client);
  for (const std::string prefix : {"lock-", "_c_8a7d6c1e-0f3b-4a2f-9d55-3f2a2b1c0d9e-lock-",
                                   "_c_8a7d6c1e-0f3b-4a2f-9d55-3f2a2b1c0d9e-__WRIT__",
                                   "8a7d6c1e0f3b4a2f9d553f2a2b1c0d9e__lock__"}) {
    const std::string foreign = environment().enqueue(prefix);
    EXPECT_FALSE(try_acquire(*lock));
    ASSERT_TRUE(reaches_nodes(1));  // the attempt's znode is deleted in the background
    auto waiting = async_acquire(*lock);
    ASSERT_TRUE(reaches_nodes(2));
    environment().change(foreign);
    EXPECT_EQ(lock->participants().size(), 2U);  // one round trip
    EXPECT_FALSE(is_ready(waiting));
    environment().remove(foreign);
    EXPECT_EQ(get(waiting).state(), HoldState::held);
    ASSERT_TRUE(becomes_empty());
  }
}

TEST_P(Foreign, ForeignContenderBehind_DoesNotBlock) {
  const auto lock = make(connect());
  auto hold = acquire(*lock);
  const std::string foreign = environment().enqueue("lock-");
  const auto all = lock->participants();
  ASSERT_EQ(all.size(), 2U);
  EXPECT_TRUE(all[0].holds);
  EXPECT_EQ(kPath + "/" + all[1].node, foreign);
  EXPECT_EQ(all[1].pid, 0);
  EXPECT_EQ(all[1].owner + all[1].host + all[1].application + all[1].thread, "");
  EXPECT_FALSE(all[1].holds);
  EXPECT_EQ(hold.state(), HoldState::held);
  hold.release();
  EXPECT_FALSE(try_acquire(*lock));  // the foreign contender is ahead of it
  environment().remove(foreign);
}

// ---- only on servers ----------------------------------------------------------------------------

class Namespaces : public SuiteTest {};
INSTANTIATE_TEST_SUITE_P(, Namespaces,
                         ::testing::ValuesIn(every_class_on({EnvironmentKind::servers})),
                         pairing_name);

TEST_P(Namespaces, PathInTwoChroots_IsSameLockOnlyForSameNode) {
  environment().create("/inner");
  Client& outside = connect();
  Client& inside =
      environment().connect_with([](ClientOptions& options) { options.hosts += "/inner"; });
  const auto outer_lock = make(outside);
  const auto inner_lock = make(inside);
  const auto hold = acquire(*outer_lock);
  const auto inner_hold = acquire(*inner_lock, {.deadline = environment().in(kTestTimeout)});
  EXPECT_EQ(inner_hold.state(), HoldState::held);
  EXPECT_EQ(inner_hold.node().rfind(kPath + "/", 0), 0U);
  EXPECT_TRUE(environment().exists("/inner" + inner_hold.node()));

  const auto same_node = make_at("/inner" + kPath, outside);
  EXPECT_FALSE(rival_try_acquire(*same_node));
}

class Permissions : public SuiteTest {
 protected:
  Client& connect_as(const std::string& password, const AclPolicy& acl) {
    return environment().connect_with([&](ClientOptions& options) {
      if (!password.empty()) options.digest = DigestCredential{"orders", password};
      options.acl = acl;
    });
  }
  // Checks that a rival waits for the release and is then granted.
  void expect_in_turn(Client& first, Client& second) {
    const auto lock = make(first);
    const auto others = make(second);
    auto hold = acquire(*lock);
    auto waiting = rival_async_acquire(*others);
    EXPECT_TRUE(environment().comes([&] { return lock->participants().size() == 2U; }));
    EXPECT_FALSE(is_ready(waiting));
    hold.release();
    EXPECT_EQ(get(waiting).state(), HoldState::held);
  }
};
INSTANTIATE_TEST_SUITE_P(, Permissions,
                         ::testing::ValuesIn(every_class_on({EnvironmentKind::servers})),
                         pairing_name);

TEST_P(Permissions, OpenPolicy_AllClientsLockButNoneWritesNodes) {
  Client& client = connect();
  expect_in_turn(client, connect());
  const auto lock = make(client);
  const auto hold = acquire(*lock);
  EXPECT_EQ(environment().raw().set_data(hold.node(), "released").rc, ZNOAUTH);
  EXPECT_EQ(environment().raw().get_data(hold.node()).rc, ZOK);
}

TEST_P(Permissions, CreatorAll_ExcludesOtherCredentials) {
  Client& owner = connect_as("right", AclPolicy::creator_all());
  Client& colleague = connect_as("right", AclPolicy::creator_all());
  Client& stranger = connect_as("wrong", AclPolicy::creator_all());
  expect_in_turn(owner, colleague);
  const auto lock = make(owner);
  const auto strangers = make(stranger);
  const auto hold = acquire(*lock);
  EXPECT_EQ(error_of([&] { return acquire(*strangers); }), Errc::no_auth);
  if (adapter().calls) {
    EXPECT_EQ(error_of([&] { return try_acquire(*strangers); }), Errc::no_auth);
  }
  EXPECT_EQ(error_of([&] { return strangers->participants(); }), Errc::no_auth);
  EXPECT_EQ(environment().raw().children(kPath).rc, ZNOAUTH);
  EXPECT_EQ(environment().raw().get_data(hold.node()).rc, ZNOAUTH);
  EXPECT_EQ(environment().raw().delete_node(hold.node()), ZNOAUTH);
  EXPECT_EQ(hold.state(), HoldState::held);
}

TEST_P(Permissions, CustomAcl_IsUsedAndChangeIsNoRelease) {
  const auto everybody =
      AclPolicy::list({{.permissions = zklock::AclEntry::all, .scheme = "world", .id = "anyone"}});
  Client& client = connect_as("", everybody);
  Client& other = connect_as("", everybody);
  expect_in_turn(client, other);
  const auto lock = make(client);
  const auto others = make(other);
  auto hold = rival_acquire(*lock);
  const testing::AclEntry open{ZOO_PERM_ALL, "world", "anyone"};
  EXPECT_EQ(environment().raw().get_acl(hold.node()).entries, std::vector{open});
  auto waiting = async_acquire(*others);
  ASSERT_TRUE(reaches_nodes(2));
  environment().change(hold.node());             // all may write, so no release
  EXPECT_EQ(others->participants().size(), 2U);  // one round trip
  EXPECT_FALSE(is_ready(waiting));
  hold.release();
  EXPECT_EQ(get(waiting).state(), HoldState::held);
}

}  // namespace
}  // namespace zklock::testing
