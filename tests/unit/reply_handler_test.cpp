// SPDX-License-Identifier: Apache-2.0
#include <array>
#include <memory>
#include <string>
#include <utility>

#include <gtest/gtest.h>

#include "zklock/client/port/reply.h"

namespace zklock::client {
namespace {

Reply reply(std::string data) {
  Reply reply;
  reply.data = std::move(data);
  return reply;
}

TEST(ReplyHandler, MovedHandler_IsNullAndOwnsNothing) {
  const auto seen = std::make_shared<std::string>();
  ReplyHandler from = [seen](const Reply& got) { *seen = got.data; };
  ReplyHandler to = std::move(from);
  EXPECT_FALSE(from);  // NOLINT(bugprone-use-after-move)
  ASSERT_TRUE(to);
  to(reply("moved"));
  EXPECT_EQ(*seen, "moved");
  EXPECT_EQ(seen.use_count(), 2);
  to = {};
  EXPECT_FALSE(to);
  EXPECT_EQ(seen.use_count(), 1);
}

TEST(ReplyHandler, CopiedHandler_OwnsItsCaptures) {
  const auto seen = std::make_shared<std::string>();
  {
    const ReplyHandler first = [seen](const Reply& got) { *seen += got.data; };
    ReplyHandler second = first;
    second = first;
    EXPECT_EQ(seen.use_count(), 3);
    first(reply("a"));
    second(reply("b"));
  }
  EXPECT_EQ(*seen, "ab");
  EXPECT_EQ(seen.use_count(), 1);
}

TEST(ReplyHandler, LargeFunction_IsCalledByEachCopy) {
  const auto seen = std::make_shared<std::string>();
  {
    const std::array<int, 100> large{1, 2};
    const ReplyHandler first = [seen, large](const Reply& got) {
      *seen += got.data + std::to_string(large[1]);
    };
    const ReplyHandler second = first;  // NOLINT(performance-unnecessary-copy-initialization)
    first(reply("a"));
    second(reply("b"));
  }
  EXPECT_EQ(*seen, "a2b2");
  EXPECT_EQ(seen.use_count(), 1);
}

}  // namespace
}  // namespace zklock::client
