// SPDX-License-Identifier: Apache-2.0
// What else is there: nodes of others, namespaces, access control lists.
#include <future>
#include <memory>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "conformance/suite/suite.h"

namespace zklock::testing {
namespace {

template <class P>
class Foreign : public SuiteTest<P> {};
using EveryPairing = EveryClassOn<RealStage, FakeStage>;
TYPED_TEST_SUITE(Foreign, EveryPairing, PairingName);

TYPED_TEST(Foreign, NodesThatAreNoContendersAreIgnoredAndStay) {
  const std::vector<std::string> junk = {
      "junk", "lock-", "lock-123", "lock-000000000x", "permits-0000000000", "0000000000"};
  this->stage().create(kPath);
  for (const std::string& name : junk) this->stage().create(kPath + "/" + name);
  const auto lock = this->make(this->connect());
  {
    const auto hold = this->acquire(*lock);
    EXPECT_EQ(hold.state(), HoldState::held);
    EXPECT_EQ(TestFixture::TestedFace::participants(*lock).size(), 1U);
    EXPECT_FALSE(static_cast<bool>(this->rival_acquire(*lock, {.deadline = Deadline::passed()})));
  }
  EXPECT_TRUE(this->reaches_nodes(junk.size()));
  for (const std::string& name : junk) EXPECT_TRUE(this->stage().exists(kPath + "/" + name));
}

TYPED_TEST(Foreign, ContendersAreWaitedForAndTheirChangesReleaseNothing) {
  Client& client = this->connect();
  const auto lock = this->make(client);
  for (const std::string prefix : {"lock-", "_c_8a7d6c1e-0f3b-4a2f-9d55-3f2a2b1c0d9e-lock-",
                                   "_c_8a7d6c1e-0f3b-4a2f-9d55-3f2a2b1c0d9e-__WRIT__",
                                   "8a7d6c1e0f3b4a2f9d553f2a2b1c0d9e__lock__"}) {
    const std::string foreign = this->stage().enqueue(prefix);
    EXPECT_FALSE(static_cast<bool>(this->try_acquire(*lock)));
    auto waiting = this->async_acquire(*lock);
    ASSERT_TRUE(this->reaches_nodes(2));
    this->stage().change(foreign);
    EXPECT_EQ(TestFixture::TestedFace::participants(*lock).size(), 2U);  // a round trip
    EXPECT_FALSE(is_ready(waiting));
    this->stage().remove(foreign);
    EXPECT_EQ(get(waiting).state(), HoldState::held);
    ASSERT_TRUE(this->becomes_empty());
  }
}

TYPED_TEST(Foreign, ContendersBehindAreNoHindrance) {
  const auto lock = this->make(this->connect());
  auto hold = this->acquire(*lock);
  const std::string foreign = this->stage().enqueue("lock-");
  const auto all = TestFixture::TestedFace::participants(*lock);
  ASSERT_EQ(all.size(), 2U);
  EXPECT_TRUE(all[0].holds);
  EXPECT_EQ(kPath + "/" + all[1].node, foreign);
  EXPECT_EQ(all[1].pid, 0);
  EXPECT_FALSE(all[1].holds);
  EXPECT_EQ(hold.state(), HoldState::held);
  hold.release();
  EXPECT_FALSE(static_cast<bool>(this->try_acquire(*lock)));  // it is the foreign one's turn
  this->stage().remove(foreign);
}

// ---- what only servers have ---------------------------------------------------------------------

template <class P>
class Namespaces : public SuiteTest<P> {};
using OnServers = EveryClassOn<RealStage>;
TYPED_TEST_SUITE(Namespaces, OnServers, PairingName);

TYPED_TEST(Namespaces, OnePathInTwoOfThemIsTwoLocksAndOneNodeInTwoIsOne) {
  this->stage().create("/inner");
  Client& outside = this->connect();
  Client& inside =
      this->stage().connect_with([](ClientOptions& options) { options.hosts += "/inner"; });
  const auto outer_lock = this->make(outside);
  const auto inner_lock = this->make(inside);
  const auto hold = this->acquire(*outer_lock);
  const auto inner_hold = this->acquire(*inner_lock, {.deadline = this->stage().in(kPatience)});
  EXPECT_EQ(inner_hold.state(), HoldState::held);
  EXPECT_EQ(inner_hold.node().rfind(kPath + "/", 0), 0U);
  EXPECT_TRUE(this->stage().exists("/inner" + inner_hold.node()));

  const auto same_node = this->make_at("/inner" + kPath, outside);
  EXPECT_FALSE(
      static_cast<bool>(this->rival_acquire(*same_node, {.deadline = Deadline::passed()})));
}

template <class P>
class Permissions : public SuiteTest<P> {
 protected:
  Client& connect_as(const std::string& password, const AclPolicy& acl) {
    return this->stage().connect_with([&](ClientOptions& options) {
      if (!password.empty()) options.digest = DigestCredential{"orders", password};
      options.acl = acl;
    });
  }
  // A rival is granted in its turn.
  void expect_in_turn(Client& first, Client& second) {
    const auto lock = this->make(first);
    const auto others = this->make(second);
    auto hold = this->acquire(*lock);
    auto waiting = this->rival_async_acquire(*others);
    EXPECT_TRUE(this->stage().comes([&] { return P::Face::participants(*lock).size() == 2U; }));
    EXPECT_FALSE(is_ready(waiting));
    hold.release();
    EXPECT_EQ(get(waiting).state(), HoldState::held);
  }
};
TYPED_TEST_SUITE(Permissions, OnServers, PairingName);

TYPED_TEST(Permissions, OpenLetsEverybodyLockAndNobodyWriteANode) {
  Client& client = this->connect();
  this->expect_in_turn(client, this->connect());
  const auto lock = this->make(client);
  const auto hold = this->acquire(*lock);
  EXPECT_EQ(this->stage().raw().set_data(hold.node(), "released").rc, ZNOAUTH);
  EXPECT_EQ(this->stage().raw().get_data(hold.node()).rc, ZOK);
}

TYPED_TEST(Permissions, CreatorAllKeepsStrangersOut) {
  Client& owner = this->connect_as("right", AclPolicy::creator_all());
  Client& colleague = this->connect_as("right", AclPolicy::creator_all());
  Client& stranger = this->connect_as("wrong", AclPolicy::creator_all());
  this->expect_in_turn(owner, colleague);
  const auto lock = this->make(owner);
  const auto strangers = this->make(stranger);
  const auto hold = this->acquire(*lock);
  EXPECT_EQ(error_of([&] { return this->acquire(*strangers); }), Errc::no_auth);
  if (TestFixture::TestedFace::calls) {
    EXPECT_EQ(error_of([&] { return this->try_acquire(*strangers); }), Errc::no_auth);
  }
  EXPECT_EQ(error_of([&] { return TestFixture::TestedFace::participants(*strangers); }),
            Errc::no_auth);
  EXPECT_EQ(this->stage().raw().children(kPath).rc, ZNOAUTH);
  EXPECT_EQ(this->stage().raw().get_data(hold.node()).rc, ZNOAUTH);
  EXPECT_EQ(this->stage().raw().delete_node(hold.node()), ZNOAUTH);
  EXPECT_EQ(hold.state(), HoldState::held);
}

TYPED_TEST(Permissions, AListOfOnesOwnIsUsedAndAnnouncesNothing) {
  const auto everybody =
      AclPolicy::list({{.permissions = zklock::AclEntry::all, .scheme = "world", .id = "anyone"}});
  Client& client = this->connect_as("", everybody);
  Client& other = this->connect_as("", everybody);
  this->expect_in_turn(client, other);
  const auto lock = this->make(client);
  const auto others = this->make(other);
  auto hold = this->rival_acquire(*lock);
  const testing::AclEntry open{ZOO_PERM_ALL, "world", "anyone"};
  EXPECT_EQ(this->stage().raw().get_acl(hold.node()).entries, std::vector{open});
  auto waiting = this->async_acquire(*others);
  ASSERT_TRUE(this->reaches_nodes(2));
  this->stage().change(hold.node());  // anybody may, so it is no release
  EXPECT_EQ(TestFixture::TestedFace::participants(*others).size(), 2U);  // a round trip
  EXPECT_FALSE(is_ready(waiting));
  hold.release();
  EXPECT_EQ(get(waiting).state(), HoldState::held);
}

}  // namespace
}  // namespace zklock::testing
