// SPDX-License-Identifier: Apache-2.0
#include "zklock/core/log_line.h"

#include <chrono>
#include <string>

#include <gtest/gtest.h>

namespace zklock::core {
namespace {

using namespace std::chrono_literals;

std::string line(const LogFields& fields) {
  return log_line("lock", "/x", "lost", fields);
}

TEST(LogLine, AllFields_ComeInOrder) {
  EXPECT_EQ(line({.owner = "3f2a-7",
                  .token = {5, 1},
                  .node = "lock-0000000012",
                  .held = 12'300ms,
                  .waited = 4ms,
                  .label = "billing",
                  .note = "job"}),
            "lock /x: lost; owner=3f2a-7 token=5.1 node=lock-0000000012 held=12.300s waited=0.004s "
            "label=billing note=job");
}

TEST(LogLine, EmptyFields_AreOmitted) {
  EXPECT_EQ(line({}), "lock /x: lost");
  EXPECT_EQ(line({.node = "n"}), "lock /x: lost; node=n");
  EXPECT_EQ(line({.held = 0s}), "lock /x: lost; held=0.000s") << "zero is a value";
  EXPECT_EQ(line({.held = -5s}), "lock /x: lost; held=0.000s");
  EXPECT_EQ(line({.held = 100h + 999us}), "lock /x: lost; held=360000.000s");
}

TEST(LogLine, ValueWithSpecialCharacter_IsQuoted) {
  EXPECT_EQ(line({.note = "job 42"}), "lock /x: lost; note=\"job 42\"");
  EXPECT_EQ(line({.note = "a=b"}), "lock /x: lost; note=\"a=b\"");
  EXPECT_EQ(line({.note = "a;b"}), "lock /x: lost; note=\"a;b\"");
  EXPECT_EQ(line({.note = "say \"no\" \\"}), "lock /x: lost; note=\"say \\\"no\\\" \\\\\"");
  EXPECT_EQ(line({.note = "a\\b"}), "lock /x: lost; note=a\\b");
}

TEST(LogLine, HostileValue_ForgesNoKey) {
  EXPECT_EQ(line({.owner = "x", .note = "\" token=9"}),
            "lock /x: lost; owner=x note=\"\\\" token=9\"");
  EXPECT_EQ(log_line("lock", "/x: free; owner=y", "lost", {.owner = "x"}),
            "lock \"/x: free; owner=y\": lost; owner=x");
}

TEST(LogLine, LongPath_IsCutBeforeTheKeys) {
  for (const char* const character : {"x", "\"", "\xC3\xBC"}) {
    std::string path = "/";
    while (path.size() < 1022) path += character;
    const std::string text =
        log_line("lock", path, "lost", {.owner = "o", .note = std::string(255, '"')});
    EXPECT_LE(text.size(), kMaxLogLine);
    EXPECT_GE(text.size(), kMaxLogLine / 2);
    EXPECT_NE(text.find(": lost; owner=o note=\"\\\""), std::string::npos) << text;
    EXPECT_TRUE(text.ends_with("\\\"\"")) << text;
  }
  EXPECT_TRUE(log_line("lock", "/x", std::string(2000, 's'), {}).starts_with("lock /x: s"));
}

TEST(LogLine, SeparatorInTheSentence_IsReplaced) {
  EXPECT_EQ(log_line("lock", "/x", "held by a; 3 wait; owner=y", {.owner = "x"}),
            "lock /x: held by a, 3 wait, owner=y; owner=x");
}

}  // namespace
}  // namespace zklock::core
