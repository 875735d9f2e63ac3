// SPDX-License-Identifier: Apache-2.0
#include "zklock/core/znode_name.h"

#include <cstdint>
#include <limits>
#include <string>
#include <vector>

#include <gtest/gtest.h>

namespace zklock::core {
namespace {

std::optional<std::int32_t> value(std::string_view text) {
  const auto name = ZnodeName::parse(text);
  // The two parsers agree on every name of these tests.
  const auto parsed = parse_znode_name(text);
  EXPECT_EQ(parsed.has_value(), name.has_value()) << text;
  if (!name) return std::nullopt;
  EXPECT_EQ(name->text, text);
  EXPECT_EQ(name->sequence, parsed->sequence);
  return name->sequence.value;
}

static_assert(kFirstUnusableSequence < Sequence{2147483647 - 100'000});

const std::string kUuid = "0a1b2c3d-4e5f-6789-abcd-ef0123456789";
const std::string kHex = "0a1b2c3d4e5f6789abcdef0123456789";

std::optional<Access> access(const std::string& name) {
  const auto read = parse_znode_name(name);
  return read ? std::optional(read->access) : std::nullopt;
}

struct Row {
  std::string prefix;
  Access access;
};
// The table in znode_name.h, without the counted names.
const std::vector<Row> kRows{
    {"lock-", Access::exclusive},
    {"__WRIT__", Access::exclusive},
    {"__READ__", Access::shared},
    {"_c_" + kUuid + "-lock-", Access::exclusive},
    {"_c_" + kUuid + "-__WRIT__", Access::exclusive},
    {"_c_" + kUuid + "-__READ__", Access::shared},
    {"_c_" + kHex + "-lock-", Access::exclusive},
    {kHex + "__lock__", Access::exclusive},
    {kHex + "__rlock__", Access::shared},
};

TEST(ZnodeName, EveryRowOfTheTable_IsAContender) {
  for (const auto& [prefix, wanted] : kRows) {
    EXPECT_EQ(value(prefix + "0000000042"), 42) << prefix;
    EXPECT_EQ(value(prefix + "2147483647"), 2147483647) << prefix;
    EXPECT_EQ(value(prefix + "-2147483648"), std::numeric_limits<std::int32_t>::min()) << prefix;
    EXPECT_EQ(access(prefix + "0000000042"), wanted) << prefix;
    EXPECT_EQ(parse_znode_name(prefix + "0000000042")->prefix, prefix);
    const bool is_mutex = prefix == kLockPrefix;
    EXPECT_EQ(ZnodeName::parse(prefix + "0000000042")->has_prefix(kLockPrefix), is_mutex) << prefix;
    EXPECT_EQ(ZnodeName::parse(prefix + "-2147483648")->has_prefix(kLockPrefix), is_mutex)
        << prefix;
  }
}

TEST(ZnodeName, NearMissOfARow_IsNoContender) {
  for (const std::string& prefix : std::vector<std::string>{
           "block-", "xlock-", "-lock-", "lock-lock-", "x__WRIT__", "x__READ__", "lock-__WRIT__",
           "lock-0000000001lock-", "__lock__", "__rlock__", "__lock__lock-", "lock-__lock__",
           // Curator: the UUID has the format of Java, between "_c_" and "-".
           "_c_lock-", "_c_-lock-", "_c_0a1b-lock-", kUuid + "-lock-", "_c_" + kUuid + "lock-",
           "_c_" + kUuid + "-", "_c_" + kUuid + "-Lock-", "_c_" + kUuid + "--lock-",
           "_c_" + kUuid + "0-lock-", "_c_" + kUuid.substr(1) + "-lock-", "x_c_" + kUuid + "-lock-",
           "c_" + kUuid + "-lock-", "_d_" + kUuid + "-lock-", "_c_" + kUuid + "-xlock-",
           "_c_" + kUuid + "xlock-", "_c_0a1b2c3d4-e5f-6789-abcd-ef0123456789-lock-",
           "_c_0a1b2c3d-4e5f-6789-abcd_ef0123456789-lock-",
           "_c_0a1b2c3d-4e5f-6789-abcd-ef012345678g-lock-",
           // Curator's other recipes, and its protection with Kazoo's marker.
           "_c_" + kUuid + "-latch-", "_c_" + kUuid + "-lease-", "_c_" + kUuid + "-__lock__",
           // Go.
           "_c_" + kHex + "lock-", "_c_" + kHex.substr(1) + "-lock-", "_c_" + kHex + "0-lock-",
           "_c_" + kHex + "-__WRIT__", "_c_" + kHex + "-__READ__", kHex + "-lock-",
           // Kazoo.
           kHex.substr(1) + "__lock__", kHex + "0__lock__", kHex + "-__lock__", kHex + "lock-",
           kUuid + "__lock__", kHex + "_lock__", kHex + "__Lock__", kHex + "__wlock__",
           "g" + kHex.substr(1) + "__lock__", kHex.substr(1) + "__rlock__", kHex + "__READ__"}) {
    EXPECT_EQ(value(prefix + "0000000042"), std::nullopt) << prefix;
    EXPECT_EQ(value(prefix + "-2147483648"), std::nullopt) << prefix;
  }
}

TEST(ZnodeName, WriterDowngraded_KeepsItsSequence) {
  const auto as_reader = [](const std::string& name) {
    const auto reader = ZnodeName::parse(name).value().as_reader();
    return reader ? reader->text : std::string("none");
  };
  EXPECT_EQ(as_reader("__WRIT__0000000042"), "__READ__0000000042");
  EXPECT_EQ(ZnodeName::parse("__WRIT__0000000042")->as_reader()->sequence.value, 42);
  EXPECT_EQ(as_reader("__WRIT__-0000000001"), "__READ__-0000000001");
  EXPECT_EQ(as_reader("__READ__0000000042"), "none");
  EXPECT_EQ(as_reader("lock-0000000042"), "none");
  EXPECT_EQ(as_reader("_c_" + kUuid + "-__WRIT__0000000042"), "none") << "Curator's do not";
}

}  // namespace
}  // namespace zklock::core
