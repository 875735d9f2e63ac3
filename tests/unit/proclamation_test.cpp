// SPDX-License-Identifier: Apache-2.0
#include <cstdint>
#include <string>

#include <gtest/gtest.h>

#include "zklock/core/child_nodes.h"

namespace zklock::core {
namespace {

TEST(Proclamation, NodeName_HasTheLeaderAndIsNoContender) {
  EXPECT_EQ(proclamation_node({42}), "proclaimed-0000000042");
  for (const std::int32_t number : {0, 42, 2'147'483'647, -1, -2'147'483'647}) {
    const std::string name = proclamation_node({number});
    EXPECT_FALSE(parse_znode_name(name)) << name;
    // Curator sorts by the text behind "lock-", or by the whole name without it.
    EXPECT_EQ(name.find(kLockPrefix), std::string::npos);
    EXPECT_GT(name, "9999999999");
  }
}

TEST(Proclamation, AnyBytes_AreReadBackWithTheLeader) {
  using namespace std::string_literals;
  for (const std::string& value : {""s, "10.0.0.7:80"s, "two\nlines\n"s, "\0\xff\n"s, "17\nx"s}) {
    const auto said = Proclamation::parse(Proclamation{{4'294'967'311}, value}.encode());
    ASSERT_TRUE(said);
    EXPECT_EQ(said->leader.zxid, 4'294'967'311);
    EXPECT_EQ(said->value, value);
  }
}

TEST(Proclamation, OtherData_IsNotParsed) {
  for (const char* text :
       {"", "zklock 1", "zklock 1 proclaimed ", "zklock 1 proclaimed 7", "zklock 1 proclaimed \nx",
        "zklock 1 proclaimed x\nx", "zklock 1 proclaimed 0\nx", "zklock 1 proclaimed -7\nx",
        "zklock 1 proclaimed 7 \nx", "zklock 2 proclaimed 7\nx", "10.0.0.7:80\n",
        "zklock 1 proclaimed 99999999999999999999\nx"}) {
    EXPECT_FALSE(Proclamation::parse(text)) << text;
  }
}

}  // namespace
}  // namespace zklock::core
