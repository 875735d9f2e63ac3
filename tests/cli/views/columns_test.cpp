// SPDX-License-Identifier: Apache-2.0
#include "zklock/cli/core/columns.h"

#include <algorithm>
#include <cstddef>
#include <string>
#include <vector>

#include <gtest/gtest.h>

namespace zklock::cli {
namespace {

TEST(DisplayWidth, WideAndCombining_AreCounted) {
  EXPECT_EQ(display_width(""), 0U);
  EXPECT_EQ(display_width("abc"), 3U);
  EXPECT_EQ(display_width("\xc3\xa4"), 1U);          // a with diaeresis
  EXPECT_EQ(display_width("a\xcc\x88"), 1U);         // a, and a combining diaeresis
  EXPECT_EQ(display_width("\xe9\x94\x81"), 2U);      // a Chinese character
  EXPECT_EQ(display_width("\xf0\x9f\x94\x92"), 2U);  // a picture of a lock
  EXPECT_EQ(display_width("\xf0\x9f\x9a\x80"), 2U);  // a rocket
  EXPECT_EQ(display_width("\xe2\x9c\x85"), 2U);      // a check mark
}

TEST(CutText, LongText_FitsTheWidth) {
  EXPECT_EQ(cut_text("abcdef", 6, Cut::end), "abcdef");
  EXPECT_EQ(cut_text("abcdefgh", 6, Cut::end), "abc...");
  EXPECT_EQ(cut_text("/jobs/billing/nightly", 12, Cut::begin), "...g/nightly");
  EXPECT_EQ(cut_text("abcdef", 2, Cut::end), "ab");
  EXPECT_EQ(cut_text("abcdef", 0, Cut::end), "");
  for (std::size_t width = 0; width < 10; ++width) {
    const auto cut =
        cut_text("\xe9\x94\x81\xe9\x94\x81\xe9\x94\x81\xe9\x94\x81\xe9\x94\x81", width, Cut::begin);
    EXPECT_LE(display_width(cut), width);
  }
}

TEST(Table, Columns_AreAligned) {
  Table table({"LOCK", "HOLDER", "NOTE"}, {0, 1, 2});
  table.add({"/a", "db7", "x"});
  table.add({"/a/long/path", "\xe9\x94\x81", ""});
  EXPECT_EQ(table.lines(0),
            (std::vector<std::string>{"LOCK          HOLDER  NOTE", "/a            db7     x",
                                      "/a/long/path  \xe9\x94\x81"}));
}

TEST(Table, NarrowTerminal_OnlyTheseColumnsAreCut) {
  Table table({"LOCK", "HOLDER", "HELD", "NOTE"}, {0, 1, 3});
  table.add({"/a/very/long/path/of/a/lock", "db7 pid 812 (billing)", "<= 4 m 10 s",
             "a long note of the holder"});
  for (std::size_t width = 1; width < 100; ++width) {
    for (const auto& line : table.lines(width)) {
      EXPECT_LE(display_width(line), std::max<std::size_t>(width, 8 + 2 + 8 + 2 + 11 + 2 + 8));
    }
    EXPECT_NE(table.lines(width).back().find("  <= 4 m 10 s  "), std::string::npos) << width;
  }
}

TEST(Table, NarrowTerminal_DropsColumnsFirst) {
  Table table({"LOCK", "KIND", "HOLDER", "NOTE"}, {0, 2, 3}, {3, 1});
  table.add({"/jobs/a/long/name", "mutex", "db7 pid 812 (billing)", "a long note of the holder"});
  const auto shown = [&table](std::size_t width) { return table.lines(width)[1]; };
  EXPECT_EQ(shown(66), "/jobs/a/long/name  mutex  db7 pid 812 (bil...  a long note of t...");
  EXPECT_EQ(shown(50), "/jobs/a/long/name  mutex  db7 pid 812 (billing)");
  EXPECT_EQ(shown(40), "/jobs/a/long/name  db7 pid 812 (billing)");
  EXPECT_EQ(shown(30), "...a/long/name  db7 pid 812...");
  EXPECT_EQ(shown(16), ".../name  db7 p...");
}

TEST(Table, HugeCell_IsCutAtOnce) {
  Table table({"LOCK", "HELD"}, {0});
  table.add({std::string(1'000'000, 'x'), "1 s"});
  EXPECT_EQ(table.lines(20).back(), "...xxxxxxxxxxx  1 s");
}

TEST(Table, HostileCell_IsMadeHarmless) {
  Table table({"LOCK", "HOLDER", "NOTE"}, {});
  table.add({"/a\n\x1b[2J", "b\xff", "c\xe2\x80\xae"});
  for (const auto& line : table.lines(0)) {
    EXPECT_TRUE(std::ranges::all_of(line, [](char c) { return c >= ' ' && c < 0x7f; })) << line;
  }
}

}  // namespace
}  // namespace zklock::cli
