// SPDX-License-Identifier: Apache-2.0
#include "zklock/core/node_name.h"

#include <cstdint>
#include <limits>
#include <random>
#include <string>

#include <gtest/gtest.h>

namespace zklock::core {
namespace {

std::optional<std::int32_t> value(std::string_view text) {
  const auto name = NodeName::parse(text);
  // The two ways to ask agree on every name of these tests.
  EXPECT_EQ(parse_sequence(text), name ? std::optional(name->sequence) : std::nullopt) << text;
  if (!name) return std::nullopt;
  EXPECT_EQ(name->text, text);
  return name->sequence.value;
}

TEST(NodeName, ReadsItsOwnFormat) {
  EXPECT_EQ(value("lock-0000000042"), 42);
  EXPECT_EQ(value("lock-0000000000"), 0);
  EXPECT_EQ(value("lock-2147483647"), 2147483647);
  EXPECT_EQ(value("lock--2147483648"), std::numeric_limits<std::int32_t>::min());
  EXPECT_TRUE(NodeName::parse("lock-0000000042")->own_format);
  EXPECT_TRUE(NodeName::parse("lock--2147483648")->own_format);
}

TEST(NodeName, ReadsTheFormatsOfOthers) {
  for (const std::string prefix :
       {"_c_0a1b2c3d-0000-1111-2222-333344445555-lock-", "0a1b2c3d4e5f__lock__", "__lock__",
        "lock-lock-", "x__lock__lock-", "lock-__lock__", "lock-0000000001lock-", "xlock-"}) {
    EXPECT_EQ(value(prefix + "0000000042"), 42) << prefix;
    EXPECT_EQ(value(prefix + "-2147483648"), std::numeric_limits<std::int32_t>::min()) << prefix;
    EXPECT_FALSE(NodeName::parse(prefix + "0000000042")->own_format) << prefix;
    EXPECT_FALSE(NodeName::parse(prefix + "-2147483648")->own_format) << prefix;
  }
}

TEST(NodeName, EverythingElseIsNoContender) {
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
                                      "lock--2147483649",
                                      "lock--9999999999",
                                      "Lock-0000000042",
                                      "lock_0000000042",
                                      "read-0000000042",
                                      "_lock__0000000042",
                                      "__lock_0000000042",
                                      "__lock___0000000042",
                                      "__rlock__0000000042",
                                      "ock-0000000042"}) {
    EXPECT_EQ(value(text), std::nullopt) << text;
  }
  EXPECT_EQ(value(std::string_view("lock-\0000000042", 15)), std::nullopt);
  EXPECT_EQ(value(std::string_view("lock-000000004\0", 15)), std::nullopt);
  EXPECT_EQ(value("lock-٠٠٠٠٠"), std::nullopt);  // digits, but not ZooKeeper's
}

TEST(NodeName, MakesWhatZooKeeperPrints) {
  EXPECT_EQ(NodeName::make({0}).text, "lock-0000000000");
  EXPECT_EQ(NodeName::make({42}).text, "lock-0000000042");
  EXPECT_EQ(NodeName::make({2147483647}).text, "lock-2147483647");
  EXPECT_EQ(NodeName::make({std::numeric_limits<std::int32_t>::min()}).text, "lock--2147483648");
}

TEST(NodeName, WhatItMakesItReads) {
  std::mt19937 random(7);
  std::uniform_int_distribution<std::int32_t> any(std::numeric_limits<std::int32_t>::min());
  for (int i = 0; i < 10'000; ++i) {
    const auto made = NodeName::make({any(random)});
    const auto read = NodeName::parse(made.text);
    ASSERT_TRUE(read) << made.text;
    EXPECT_EQ(read->sequence, made.sequence);
    EXPECT_EQ(read->text, made.text);
    EXPECT_TRUE(read->own_format);
    EXPECT_TRUE(made.own_format);
  }
}

TEST(NodeName, OneByteMoreOrLessIsNoContender) {
  const std::string name = NodeName::make({1234567890}).text;
  for (std::size_t i = 0; i < name.size(); ++i) {
    EXPECT_EQ(value(name.substr(0, i) + name.substr(i + 1)), std::nullopt) << i;
  }
  // A byte more after the prefix; before it stands whatever an owner likes.
  for (std::size_t i = lock_prefix.size() + 1; i <= name.size(); ++i) {
    for (const char c : {'0', '-', '+', ' ', 'x', '\0'}) {
      EXPECT_EQ(value(name.substr(0, i) + c + name.substr(i)), std::nullopt) << i << c;
    }
  }
}

TEST(NodeName, OrdersByArrivalThenText) {
  const auto name = [](std::string_view text) { return *NodeName::parse(text); };
  EXPECT_TRUE(name("lock-0000000001").before(name("a-lock-0000000002")));
  EXPECT_FALSE(name("a-lock-0000000002").before(name("lock-0000000001")));
  EXPECT_TRUE(name("lock--2147483648").before(name("lock-0000000000")));
  EXPECT_TRUE(name("a-lock-0000000001").before(name("b-lock-0000000001")));
  EXPECT_FALSE(name("b-lock-0000000001").before(name("a-lock-0000000001")));
  EXPECT_FALSE(name("lock-0000000001").before(name("lock-0000000001")));
  EXPECT_TRUE(name("alock-0000000001").before(name("\xC3\xA4lock-0000000001")));
}

TEST(NodeName, TheCounterIsGivenUpWellBeforeItsEnd) {
  EXPECT_LT(first_unusable_sequence, Sequence{2147483647 - 100'000});
}

}  // namespace
}  // namespace zklock::core
