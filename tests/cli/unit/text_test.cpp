// SPDX-License-Identifier: Apache-2.0
#include "zklock/cli/core/text.h"

#include <array>
#include <chrono>
#include <string>
#include <string_view>
#include <utility>

#include <gtest/gtest.h>

#include "zklock/cli/core/duration.h"
#include "zklock/cli/core/failure.h"

namespace zklock::cli {
namespace {

using namespace std::chrono_literals;

TEST(ClosestName, Misspelling_IsFound) {
  constexpr std::array<std::string_view, 5> kNames{"run", "elect", "hold", "ls", "permits"};
  const auto closest = [&](std::string_view written) { return closest_name(written, kNames); };
  EXPECT_EQ(closest("lss"), "ls");
  EXPECT_EQ(closest("rnu"), "run");
  EXPECT_EQ(closest("permit"), "permits");
  for (const char* const other : {"", "x", "xy", "status", "election"}) {
    EXPECT_EQ(closest(other), "") << other;
  }
  EXPECT_EQ(closest(std::string(100'000, 'x')), "");
}

TEST(Counted, One_HasNoPlural) {
  EXPECT_EQ(counted(0, "lock"), "0 locks");
  EXPECT_EQ(counted(1, "lock"), "1 lock");
  EXPECT_EQ(counted(2, "child", "children"), "2 children");
  EXPECT_EQ(counted(1, "child", "children"), "1 child");
}

TEST(Duration, Written_IsParsed) {
  EXPECT_EQ(parse_duration("30s"), 30s);
  EXPECT_EQ(parse_duration("250ms"), 250ms);
  EXPECT_EQ(parse_duration("1.5s"), 1500ms);
  EXPECT_EQ(parse_duration("1h30m"), 90min);
  EXPECT_EQ(parse_duration("2d4h5m6s7ms"), 52h + 5min + 6007ms);
  EXPECT_EQ(parse_duration("0s"), 0s);
  EXPECT_EQ(parse_duration("5m"), 5min);
}

TEST(Duration, WrongText_IsRefused) {
  for (const char* const text :
       {"", "30", "s", "-1s", "1.s", ".5s", "1s1s", "1s1m", "1ms1s", "1y", "1 s", "1s ", "inf",
        "nans", "1e3s", "0x1s", "99999999999d", "+1s"}) {
    EXPECT_THROW((void)parse_duration(text), Failure) << text;
  }
}

TEST(Duration, NoUnit_IsExplained) {
  try {
    (void)parse_duration("30");
    FAIL();
  } catch (const Failure& failure) {
    EXPECT_STREQ(failure.what(), "\"30\" has no unit: write 30s or 30m");
    EXPECT_EQ(failure.exit_code(), ExitCode::kUsage);
  }
}

TEST(Duration, Text_HasTwoUnits) {
  for (const auto& [duration, text] : {std::pair<Duration, const char*>{350ms, "350 ms"},
                                       {3200ms, "3.2 s"},
                                       {3s, "3 s"},
                                       {42s, "42 s"},
                                       {250s, "4 m 10 s"},
                                       {240s, "4 m"},
                                       {3h + 5min, "3 h 5 m"},
                                       {52h, "2 d 4 h"},
                                       {-1s, "0 ms"},
                                       {0s, "0 ms"}}) {
    EXPECT_EQ(text_of(duration), text);
  }
}

TEST(DisplayText, PlainText_IsUnchanged) {
  const std::string text = "db7 pid 812 (M\xC3\xBCller, \"job 42\") \xE2\x82\xAC \xF0\x9F\x94\x92";
  EXPECT_EQ(display_text(text), text);
}

TEST(DisplayText, HiddenCharacters_AreReplaced) {
  for (const std::string_view text : {"\x1B", "\n", "\x7F", "\xC2\x9B",  // C0, DEL, C1
                                      "\xE2\x80\xAE",                    // right-to-left override
                                      "\xE2\x80\x8B",                    // zero width space
                                      "\xEF\xBB\xBF",                    // byte order mark
                                      "\xEE\x80\x80",                    // private use
                                      "\xE2\x81\xA6"}) {                 // isolate
    EXPECT_EQ(display_text("a" + std::string(text) + "b"), "a?b");
  }
  EXPECT_EQ(display_text(std::string(1, '\0')), "?");
}

TEST(DisplayText, InvalidUtf8_IsReplaced) {
  EXPECT_EQ(display_text("\xC0\xAF"), "??");       // overlong
  EXPECT_EQ(display_text("\xE0\x80\xAF"), "???");  // overlong
  EXPECT_EQ(display_text("\xED\xA0\x80"), "???");  // surrogate
  EXPECT_EQ(display_text("a\xFF\x62"), "a?b");
  EXPECT_EQ(display_text("\xE2\x82"), "??");            // cut
  EXPECT_EQ(display_text("\xF4\x90\x80\x80"), "????");  // above the last code
}

}  // namespace
}  // namespace zklock::cli
