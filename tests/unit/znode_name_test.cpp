// SPDX-License-Identifier: Apache-2.0
#include "zklock/core/znode_name.h"

#include <cstdint>
#include <limits>
#include <random>
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

TEST(ZnodeName, OwnFormat_IsParsed) {
  EXPECT_EQ(value("lock-0000000042"), 42);
  EXPECT_EQ(value("lock-0000000000"), 0);
  EXPECT_EQ(value("lock-2147483647"), 2147483647);
  EXPECT_EQ(value("lock--2147483648"), std::numeric_limits<std::int32_t>::min());
  EXPECT_TRUE(ZnodeName::parse("lock-0000000042")->has_prefix(kLockPrefix));
  EXPECT_TRUE(ZnodeName::parse("lock--2147483648")->has_prefix(kLockPrefix));
}

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
           "c_" + kUuid + "-lock-", "_c_" + kUuid + "-xlock-",
           "_c_0a1b2c3d4-e5f-6789-abcd-ef0123456789-lock-",
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

TEST(ZnodeName, OtherNames_AreNoContender) {
  for (const std::string_view text : {"",
                                      "lock-",
                                      "lock",
                                      "0000000042",
                                      "-0000000042",
                                      "lock-42",
                                      "lock-000000042",
                                      "lock-00000000042",
                                      "lock--000000042",
                                      "lock---0000000042",
                                      "lock-+000000042",
                                      "lock-+0000000042",
                                      "lock- 000000042",
                                      "lock-0000000042 ",
                                      "lock-0000000042x",
                                      "lock-0000000042lock-",
                                      "lock-0x00000042",
                                      "lock-00000000-1",
                                      "lock-9999999999",
                                      "lock-2147483648",
                                      "lock--0000000000",
                                      "lock--2147483649",
                                      "lock--9999999999",
                                      "Lock-0000000042",
                                      "lock_0000000042",
                                      "read-0000000042",
                                      "_lock__0000000042",
                                      "__lock_0000000042",
                                      "__lock___0000000042",
                                      "_rlock__0000000042",
                                      "ock-0000000042"}) {
    EXPECT_EQ(value(text), std::nullopt) << text;
  }
  EXPECT_EQ(value(std::string_view("lock-\0"
                                   "000000042",
                                   15)),
            std::nullopt);
  EXPECT_EQ(value(std::string_view("lock-000000004\0", 15)), std::nullopt);
  EXPECT_EQ(value("lock-٠٠٠٠٠"), std::nullopt);  // digits, but not ZooKeeper's
}

TEST(ZnodeName, Made_IsFormattedAsByZooKeeper) {
  EXPECT_EQ(ZnodeName::make(kLockPrefix, {0}).text, "lock-0000000000");
  EXPECT_EQ(ZnodeName::make(kLockPrefix, {42}).text, "lock-0000000042");
  EXPECT_EQ(ZnodeName::make(kLockPrefix, {2147483647}).text, "lock-2147483647");
  EXPECT_EQ(ZnodeName::make(kLockPrefix, {std::numeric_limits<std::int32_t>::min()}).text,
            "lock--2147483648");
}

TEST(ZnodeName, RandomSequence_IsParsedBack) {
  std::mt19937 random(7);
  std::uniform_int_distribution<std::int32_t> any(std::numeric_limits<std::int32_t>::min());
  for (int i = 0; i < 10'000; ++i) {
    const auto made = ZnodeName::make(kLockPrefix, {any(random)});
    const auto read = ZnodeName::parse(made.text);
    ASSERT_TRUE(read) << made.text;
    EXPECT_EQ(read->sequence, made.sequence);
    EXPECT_EQ(read->text, made.text);
    EXPECT_TRUE(read->has_prefix(kLockPrefix));
  }
}

TEST(ZnodeName, OneByteMoreOrLess_IsNoContender) {
  const std::string name = ZnodeName::make(kLockPrefix, {1234567890}).text;
  for (std::size_t i = 0; i < name.size(); ++i) {
    EXPECT_EQ(value(name.substr(0, i) + name.substr(i + 1)), std::nullopt) << i;
  }
  for (std::size_t i = 0; i <= name.size(); ++i) {
    for (const char c : {'0', '-', '+', ' ', 'x', '\0'}) {
      const bool negates = c == '-' && (i == 4 || i == 5);  // a counter beyond its end prints that
      if (negates) continue;
      EXPECT_EQ(value(name.substr(0, i) + c + name.substr(i)), std::nullopt) << i << c;
    }
  }
}

TEST(ZnodeName, Comparison_IsBySequenceThenText) {
  const auto name = [](std::string_view text) { return *parse_znode_name(text); };
  const std::string curator = "_c_" + kUuid + "-lock-0000000001";
  const std::string kazoo = kHex + "__lock__0000000001";
  const std::string later = kHex + "__lock__0000000002";
  EXPECT_TRUE(name("lock-0000000001").before(name(later)));
  EXPECT_FALSE(name(later).before(name("lock-0000000001")));
  EXPECT_TRUE(name("lock--2147483648").before(name("lock-0000000000")));
  EXPECT_TRUE(name(kazoo).before(name(curator)));
  EXPECT_FALSE(name(curator).before(name(kazoo)));
  EXPECT_FALSE(name("lock-0000000001").before(name("lock-0000000001")));
}

TEST(ZnodeName, PermitsName_HasTheCounts) {
  const auto fixed = parse_znode_name(permits_prefix(2, 14) + "0000000007");
  ASSERT_TRUE(fixed);
  EXPECT_EQ(fixed->access, Access::permits);
  EXPECT_EQ(fixed->permits, 2);
  EXPECT_EQ(fixed->named_total, 14);
  EXPECT_EQ(fixed->sequence.value, 7);
  const auto shared = parse_znode_name("permits-2147483647--0000000007");
  ASSERT_TRUE(shared);
  EXPECT_EQ(shared->permits, 2147483647);
  EXPECT_EQ(shared->named_total, 0);
  EXPECT_EQ(shared->sequence.value, -7);
  EXPECT_TRUE(ZnodeName::parse("permits-2-of-4-0000000007")->has_prefix("permits-2-of-4-"));
  EXPECT_FALSE(ZnodeName::parse("permits-2-of-4-0000000007")->has_prefix("permits-2-of-"));
}

TEST(ZnodeName, MalformedPermits_AreNoContender) {
  for (const std::string_view prefix :
       {"permits-", "permits-0-", "permits--1-", "permits-01-", "permits-2147483648-",
        "permits-1-of-", "permits-1-of-0-", "permits-1-of-02-", "permits-1-of-2", "permits-1-2-",
        "permits-1-of-2-3-", "permits-+1-", "permits- 1-", "xpermits-1-", "permits-1---",
        "permits-1-of-2---", "permits-1-OF-2-"}) {
    EXPECT_EQ(value(std::string(prefix) + "0000000007"), std::nullopt) << prefix;
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

TEST(ZnodeName, FirstUnusableSequence_IsWellBeforeTheEnd) {
  EXPECT_LT(kFirstUnusableSequence, Sequence{2147483647 - 100'000});
}

}  // namespace
}  // namespace zklock::core
