// SPDX-License-Identifier: Apache-2.0
// Which znodes are read for a view of a queue, and the view that their data give.
#include "zklock/engine/queue_view.h"

#include <string>
#include <vector>

#include <gtest/gtest.h>

namespace zklock::detail {
namespace {

using core::Status;
using Names = std::vector<std::string>;

const std::string kFirst = "lock-0000000001";
const std::string kSecond = "lock-0000000002";
const OwnZnodes kNone{core::SessionId{}};

client::Reply list(Names children) {
  client::Reply reply;
  reply.status = Status::ok;
  reply.children = std::move(children);
  reply.pzxid = {100};
  return reply;
}

client::Reply node(std::int64_t czxid, std::string data = {}) {
  client::Reply reply;
  reply.status = Status::ok;
  reply.token = FencingToken{czxid};
  reply.data = std::move(data);
  return reply;
}

client::Reply failed(Status status) {
  client::Reply reply;
  reply.status = status;
  return reply;
}

Names reads(const ViewBuilder& view) {
  Names names;
  for (const auto& read : view.reads()) names.push_back(read.child);
  return names;
}

Names nodes(const std::vector<Participant>& contenders) {
  Names names;
  for (const Participant& each : contenders) names.push_back(each.node);
  return names;
}

TEST(QueueViewTest, SharedCount_IsReadBeforeHolders) {
  const Names permits{"permits-1-0000000001", "permits-1-0000000002", "permits-1-0000000003"};
  for (const std::string& count : {std::string("2"), std::string("none")}) {
    ViewBuilder view(list({"count", permits[2], permits[0], permits[1]}), {.most_waiting = 1});
    EXPECT_EQ(reads(view), Names{"count"});
    EXPECT_TRUE(view.reads().front().can_change());
    EXPECT_TRUE(view.lacks(failed(Status::unknown)));
    EXPECT_TRUE(view.lacks(failed(Status::closed)));
    EXPECT_FALSE(view.lacks(failed(Status::no_auth)));
    EXPECT_FALSE(view.lacks(failed(Status::no_node)));
    EXPECT_FALSE(view.is_outdated_by(failed(Status::no_node))) << "then no contender holds";
    view.take(node(200, count), kNone);
    const bool is_count = count == "2";
    EXPECT_EQ(view.permits(), is_count ? std::optional(2) : std::nullopt);
    EXPECT_EQ(reads(view), is_count ? permits : Names{permits[0]});
    EXPECT_EQ(view.view().lock.holding, is_count ? 2U : 0U);
    EXPECT_EQ(view.view().lock.waiting, is_count ? 1U : 3U);
  }
}

TEST(QueueViewTest, ListedValue_IsReadBeforeItsLeader) {
  const std::string value = core::proclamation_node({1});
  ViewBuilder view(list({kSecond, kFirst, core::proclamation_node({2}), value}),
                   ViewScope::leadership());
  ASSERT_EQ(reads(view), (Names{value, kFirst}));
  EXPECT_TRUE(view.reads().front().can_change());
  EXPECT_TRUE(view.is_outdated_by(failed(Status::no_node)));
  EXPECT_TRUE(view.lacks(failed(Status::no_auth)));
  view.take(node(50, core::Proclamation{FencingToken{7}, "v"}.encode()), kNone);
  view.take(node(7), kNone);
  EXPECT_EQ(view.view().proclaimed, "v");
  EXPECT_EQ(view.view().lock.waiting, 0U) << "a leadership has no counts";
}

TEST(QueueViewTest, DeletedContender_OutdatesTheList) {
  ViewBuilder view(list({kFirst, kSecond}), {.most_waiting = 1});
  EXPECT_TRUE(view.is_outdated_by(failed(Status::no_node)));
  EXPECT_TRUE(view.is_outdated_by(node(101))) << "of a later path";
  EXPECT_FALSE(view.is_outdated_by(node(100)));
  EXPECT_FALSE(view.lacks(failed(Status::no_auth)));
  EXPECT_TRUE(view.lacks(failed(Status::unknown)));
  view.omit();
  view.take(node(2), kNone);
  EXPECT_TRUE(view.view().lock.holders.empty());
  EXPECT_EQ(nodes(view.view().waiters), Names{kSecond});
  EXPECT_EQ(view.view().lock.holding, 1U);
}

}  // namespace
}  // namespace zklock::detail
