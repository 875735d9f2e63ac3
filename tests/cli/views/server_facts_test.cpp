// SPDX-License-Identifier: Apache-2.0
#include "zklock/cli/core/server_facts.h"

#include <string>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

namespace zklock::cli {
namespace {

TEST(ServerFacts, AnswerOfLeader_IsParsed) {
  const auto facts = parse_server_facts(
      "Zookeeper version: 3.8.0-5a02a05eddb59aee6ac762f7ea82e92a68eb9c0f, built on 2022\n"
      "Latency min/avg/max: 0/0.0/0\nMode: leader\nNode count: 5\n");
  ASSERT_TRUE(facts.version);
  EXPECT_EQ(to_string(*facts.version), "3.8.0");
  EXPECT_EQ(facts.mode, "leader");
}

TEST(ServerFacts, OtherAnswers_AreUnknown) {
  for (const char* text : {"", "srvr is not executed because it is not in the whitelist.\n",
                           "This ZooKeeper instance is not currently serving requests\n",
                           "Zookeeper version: x.y\n", "no Mode: leader\n"}) {
    const auto facts = parse_server_facts(text);
    EXPECT_FALSE(facts.version) << text;
    EXPECT_EQ(facts.mode, "") << text;
  }
}

TEST(ServerFacts, Version_IsJudged) {
  EXPECT_EQ(verdict_of({3, 4, 14}).level, Level::failure);
  EXPECT_EQ(verdict_of({3, 5, 0}).reason, "upgrade it: zklock needs ZooKeeper 3.5.1 or later");
  EXPECT_EQ(verdict_of({3, 5, 1}).level, Level::warning);
  EXPECT_EQ(verdict_of({3, 9, 3}).reason,
            "upgrade it: before 3.9.4 a server can lose a committed write");
  EXPECT_EQ(verdict_of({3, 9, 4}).level, Level::ok);
  EXPECT_EQ(verdict_of({3, 10, 0}).reason, "");
}

TEST(ServersOf, ConnectionString_IsSplit) {
  using Servers = std::vector<std::pair<std::string, std::string>>;
  EXPECT_EQ(servers_of("a:1,b:2/chroot:3"), (Servers{{"a", "1"}, {"b", "2"}}));
  EXPECT_EQ(servers_of("[::1]:2181"), (Servers{{"::1", "2181"}}));
  EXPECT_EQ(servers_of(""), Servers{});
}

}  // namespace
}  // namespace zklock::cli
