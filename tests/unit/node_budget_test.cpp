// SPDX-License-Identifier: Apache-2.0
#include "zklock/client/zookeeper/node_budget.h"

#include <cstddef>
#include <string>
#include <vector>

#include <gtest/gtest.h>

namespace zklock::client {
namespace {

// "/p/lock-0000000000"
constexpr std::size_t kOne = 18;

/// Reserves the bytes of a znode in /p with the prefix, and creates it with the number.
void create(NodeBudget& nodes, const std::string& prefix, const std::string& number) {
  ASSERT_TRUE(nodes.reserve("/p/" + prefix));
  nodes.created("/p/" + prefix + number, "/p/" + prefix);
}

/// Reserves the bytes of a znode, and loses the reply to its create.
void lose_create(NodeBudget& nodes, const std::string& path) {
  ASSERT_TRUE(nodes.reserve(path));
  nodes.unknown(path);
}

TEST(NodeBudget, OptionalNode_LeavesHalfOfTheCap) {
  constexpr bool kOptional = true;
  NodeBudget nodes(4 * kOne);
  ASSERT_TRUE(nodes.reserve("/p/lock-"));
  EXPECT_TRUE(nodes.reserve("/p/held-", 0, kOptional));
  EXPECT_FALSE(nodes.reserve("/p/held-", 0, kOptional));
  EXPECT_EQ(nodes.bytes(), 2 * kOne);
  EXPECT_TRUE(nodes.reserve("/p/held-", kOne, kOptional)) << "its transaction frees as much";
  EXPECT_TRUE(nodes.reserve("/p/lock-"));
  EXPECT_FALSE(nodes.reserve("/p/lock-"));
}

// The znode was deleted by hand, without an event, and the path was recreated. So its number is
// repeated.
TEST(NodeBudget, NameRepeated_CountsOnce) {
  NodeBudget nodes(2 * kOne);
  for (int i = 0; i < 2; ++i) {
    create(nodes, "lock-", "0000000000");
  }
  EXPECT_EQ(nodes.bytes(), kOne);
  nodes.deleted("/p/lock-0000000000");
  EXPECT_EQ(nodes.bytes(), 0U);
}

TEST(NodeBudget, CreateReplyLost_CountsUntilTheNodeIsDeleted) {
  NodeBudget nodes(100);
  lose_create(nodes, "/p/lock-");
  nodes.missing("/p/lock-0000000007");
  nodes.deleted("/q/lock-0000000007");
  EXPECT_EQ(nodes.bytes(), kOne);
  nodes.deleted("/p/lock-0000000007");
  EXPECT_EQ(nodes.bytes(), 0U);
}

// Delay markers and the count are not znodes of this kind.
TEST(NodeBudget, OtherNodeDeleted_UnknownNodeStillCounts) {
  NodeBudget nodes(1000);
  lose_create(nodes, "/p/lock-");
  for (const char* path : {"/p/delay-5000-77-0000000007", "/p/count", "/p/lock-000000007",
                           "/p/lock-00000000007", "/p/xlock-0000000007", "/p/lock-00000000/7"}) {
    nodes.deleted(path);
    EXPECT_EQ(nodes.bytes(), kOne) << path;
  }
  lose_create(nodes, "/p/release-request-0000000007");  // its full name is known
  const std::size_t both = nodes.bytes();
  nodes.deleted("/p/release-request-0000000008");
  EXPECT_EQ(nodes.bytes(), both);
  nodes.deleted("/p/release-request-0000000007");
  EXPECT_EQ(nodes.bytes(), kOne);
}

TEST(NodeBudget, CreatedAfterUnknownOutcome_CountsOnce) {
  NodeBudget nodes(1000);
  const std::string name = "__READ__0000000007";
  for (int i = 0; i < 2; ++i) ASSERT_TRUE(nodes.reserve("/p/" + name));
  const std::size_t both = nodes.bytes();
  nodes.unknown("/p/" + name);
  nodes.created("/p/" + name, "/p/" + name);
  EXPECT_EQ(nodes.bytes(), both / 2);
  nodes.deleted("/p/" + name);
  EXPECT_EQ(nodes.bytes(), 0U);
}

// The reply to a move was lost, so either name can exist. A list shows that only one of them does.
TEST(NodeBudget, RemovalReplyLost_CountsAsUnknown) {
  NodeBudget nodes(1000);
  create(nodes, "gate-", "0000000007");
  nodes.maybe_deleted("/p/gate-0000000008");
  lose_create(nodes, "/p/lock-");
  nodes.maybe_deleted("/p/gate-0000000007");
  EXPECT_EQ(nodes.bytes(), 2 * kOne);
  nodes.deleted("/p/gate-0000000008");
  EXPECT_EQ(nodes.bytes(), 2 * kOne);
  nodes.listed("/p", 1);
  EXPECT_EQ(nodes.bytes(), kOne);
  nodes.listed("/p", 0);
  EXPECT_EQ(nodes.bytes(), 0U);
}

TEST(NodeBudget, UnknownThenDeleted_NoLongerCounts) {
  for (const auto goes : {&NodeBudget::deleted, &NodeBudget::missing}) {
    NodeBudget nodes(1000);
    create(nodes, "lock-", "0000000007");
    nodes.maybe_deleted("/p/lock-0000000007");
    EXPECT_EQ(nodes.bytes(), kOne);
    EXPECT_EQ(nodes.bytes_of("/p/lock-0000000007"), kOne);
    (nodes.*goes)("/p/lock-0000000007");
    EXPECT_EQ(nodes.bytes(), 0U);
  }
}

TEST(NodeBudget, TwoUnknown_ExactNameEndsFirst) {
  NodeBudget nodes(1000);
  for (int i = 0; i < 2; ++i) ASSERT_TRUE(nodes.reserve("/p/lock-"));
  nodes.created("/p/lock-0000000007", "/p/lock-");
  nodes.unknown("/p/lock-");
  nodes.maybe_deleted("/p/lock-0000000007");
  nodes.deleted("/p/lock-0000000007");
  EXPECT_EQ(nodes.bytes(), kOne);
  nodes.deleted("/p/lock-0000000008");
  EXPECT_EQ(nodes.bytes(), 0U);
}

// A create without a reply may not have been executed. A list shows the largest possible number.
TEST(NodeBudget, List_BoundsTheUnknown) {
  NodeBudget nodes(1000);
  for (int i = 0; i < 3; ++i) {
    lose_create(nodes, "/p/lock-");
  }
  nodes.listed("/q", 0);
  nodes.listed("/p", 5);
  EXPECT_EQ(nodes.bytes(), 3 * kOne);
  lose_create(nodes, "/p/m/lock-");
  const std::size_t nested = nodes.bytes() - 3 * kOne;
  nodes.listed("/p", 1);
  EXPECT_EQ(nodes.bytes(), kOne + nested);
  nodes.listed("/p", 0);
  EXPECT_EQ(nodes.bytes(), nested) << "another parent";
  nodes.listed("/p/m", 0);
  EXPECT_EQ(nodes.bytes(), 0U);
}

/// A move of a lock znode to another name, and a znode that is not ephemeral.
std::vector<request::Write> move_of(const std::string& name) {
  return {request::write::Remove{"/p/" + name},
          request::write::Create{.path = "/p/lock-", .ephemeral = true, .sequential = true},
          request::write::Create{.path = "/p/count"}};
}

TEST(NodeBudget, TransactionAnswered_CountsWhatMayExist) {
  struct Case {
    Status status;
    std::size_t bytes;          // after the reply
    std::size_t bytes_of_gate;  // of the znode to be deleted
    std::size_t bytes_of_lock;  // of the created znode
  };
  for (const Case& c :
       {Case{Status::ok, kOne, 0, kOne}, Case{Status::unknown, 2 * kOne, kOne, 0},
        Case{Status::no_node, kOne, kOne, 0}, Case{Status::session_ended, kOne, kOne, 0}}) {
    NodeBudget nodes(1000);
    create(nodes, "gate-", "0000000007");
    const auto writes = move_of("gate-0000000007");
    ASSERT_TRUE(nodes.reserve(writes));
    client::Reply reply;
    reply.status = c.status;
    reply.name = "lock-0000000008";
    nodes.on_reply(writes, reply);
    EXPECT_EQ(nodes.bytes(), c.bytes) << core::to_string(c.status);
    EXPECT_EQ(nodes.bytes_of("/p/gate-0000000007"), c.bytes_of_gate) << core::to_string(c.status);
    EXPECT_EQ(nodes.bytes_of("/p/lock-0000000008"), c.bytes_of_lock) << core::to_string(c.status);
    nodes.listed("/p", 0);  // ends what is uncertain
    EXPECT_EQ(nodes.bytes(), c.status == Status::unknown ? 0U : kOne);
  }
}

TEST(NodeBudget, SessionEnded_ClearsTheBudget) {
  NodeBudget nodes(100);
  create(nodes, "lock-", "0000000000");
  nodes.clear();
  EXPECT_EQ(nodes.bytes(), 0U);
  nodes.deleted("/p/lock-0000000000");
  EXPECT_EQ(nodes.bytes(), 0U);
}

}  // namespace
}  // namespace zklock::client
