// SPDX-License-Identifier: Apache-2.0
#include "zklock/cli/core/top_view.h"

#include <array>
#include <cstddef>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "locks.h"
#include "zklock/cli/core/columns.h"
#include "zklock/cli/io/terminal.h"

namespace zklock::cli::testing {
namespace {

using Effect = TopView::Effect;

class TopViewTest : public ::testing::Test {
 protected:
  TopViewTest() { show({"/a", "/b", "/c"}); }

  void show(const std::vector<std::string>& paths) {
    auto snapshot = std::make_shared<Snapshot>();
    snapshot->as_of = kNow;
    snapshot->visited = 1;
    for (const auto& path : paths) snapshot->locks.push_back(busy_lock(path));
    view_.on_snapshot(std::move(snapshot));
  }
  Effect press(std::string_view text) {
    Effect last = Effect::none;
    for (const char c : text) last = view_.on_key(c, kNow);
    return last;
  }
  Effect press(Key key) { return view_.on_key(key, kNow); }
  std::vector<std::string> lines(std::size_t height = 10) { return view_.lines(80, height, kNow); }
  /// Returns the path of the selected row.
  std::string selected() {
    for (const auto& line : lines()) {
      if (line.starts_with('>')) return line.substr(2, line.find(' ', 2) - 2);
    }
    return {};
  }

  TopView view_{"/", RowOrder::path};
};

TEST_F(TopViewTest, Screen_IsFilledExactly) {
  EXPECT_EQ(lines(10).size(), 10U);
  EXPECT_EQ(lines(10).front(), "zklock /  3 locks; 0 ms old");
  EXPECT_TRUE(lines(10).back().starts_with("q quit"));
  for (std::size_t height = 0; height < 6; ++height) {
    for (std::size_t width = 0; width < 40; ++width) {
      const auto all = view_.lines(width, height, kNow);
      EXPECT_EQ(all.size(), height);
      for (const auto& line : all) EXPECT_LE(display_width(line), width);
    }
  }
}

TEST_F(TopViewTest, Selection_StaysOnItsLock) {
  EXPECT_EQ(selected(), "/a");
  press("j");
  press(kDown);
  EXPECT_EQ(selected(), "/c");
  press("j");
  EXPECT_EQ(selected(), "/c");
  press("k");
  EXPECT_EQ(selected(), "/b");
  show({"/0", "/a", "/b"});
  EXPECT_EQ(selected(), "/b");
  show({"/0"});
  EXPECT_EQ(selected(), "/0");
}

TEST_F(TopViewTest, LongList_Scrolls) {
  std::vector<std::string> paths;
  for (int i = 100; i < 200; ++i) paths.push_back("/" + std::to_string(i));
  show(paths);
  lines();
  press(kPageDown);
  EXPECT_EQ(selected(), "/107");
  for (int i = 0; i < 40; ++i) press(kPageDown);
  EXPECT_EQ(selected(), "/199");
  for (int i = 0; i < 40; ++i) press(kPageUp);
  EXPECT_EQ(selected(), "/100");
}

TEST_F(TopViewTest, Filter_IsTypedAndRemoved) {
  press("//b");
  EXPECT_EQ(lines().back(), "filter: /b");
  EXPECT_EQ(selected(), "/b");
  press("q");  // a character of the filter
  EXPECT_EQ(selected(), "");
  press(kBackspace);
  press(kEnter);
  EXPECT_EQ(selected(), "/b");
  EXPECT_EQ(press("q"), Effect::end);
  press(kEscape);
  EXPECT_EQ(lines().front(), "zklock /  3 locks; 0 ms old");
}

TEST_F(TopViewTest, Filter_IsASearchForWords) {
  press("/DB7 /b");  // each of them, without regard to the case
  EXPECT_EQ(lines().front(), "zklock /  3 locks, 1 shown; 0 ms old");
  EXPECT_EQ(lines().back(), "filter: DB7 /b");
  EXPECT_EQ(selected(), "/b");
  press(" db8");
  EXPECT_EQ(selected(), "");
}

TEST_F(TopViewTest, Enter_ShowsTheContenders) {
  lines();
  press("j");
  press(kEnter);
  auto all = lines();
  EXPECT_EQ(all.front(), "zklock /b");
  EXPECT_TRUE(all[2].find("holds") != std::string::npos) << all[2];
  EXPECT_EQ(press(" "), Effect::pass);
  show({"/a"});
  EXPECT_EQ(lines()[1], "free");
  press(kEscape);
  EXPECT_EQ(lines().front(), "zklock /  1 lock; 0 ms old");
}

TEST_F(TopViewTest, Deadlock_IsMarked) {
  auto snapshot = std::make_shared<Snapshot>();
  snapshot->as_of = kNow;
  for (const char* const path : {"/a", "/b", "/c"}) snapshot->locks.push_back(busy_lock(path));
  complete(*snapshot,
           {{.steps = {{.path = "/b", .waiter = {}, .blocker = {}}}, .is_certain = true}});
  view_.on_snapshot(std::move(snapshot));
  EXPECT_TRUE(lines()[2].starts_with("> /a    mutex  ")) << lines()[2];
  EXPECT_TRUE(lines()[3].starts_with(" !/b    mutex, deadlock  ")) << lines()[3];
}

TEST_F(TopViewTest, Problem_ReplacesTheLastLine) {
  view_.on_problem("no connection");
  EXPECT_EQ(lines().back(), "no connection");
  show({"/a"});
  EXPECT_TRUE(lines().back().starts_with("q quit"));
}

TEST_F(TopViewTest, WhatIsNotRead_IsSaid) {
  auto snapshot = std::make_shared<Snapshot>();
  view_.on_snapshot(snapshot);
  EXPECT_EQ(lines().back(), "/ does not exist");
  snapshot->unreadable = {"/a", "/b"};
  snapshot->too_deep = {"/c"};
  snapshot->as_of = kNow;
  view_.on_snapshot(snapshot);
  EXPECT_EQ(lines().front(), "zklock /  0 locks, 3 paths not read; 0 ms old");
  EXPECT_TRUE(lines().back().starts_with("q quit"));
}

TEST_F(TopViewTest, RandomKeys_NeverFail) {
  const std::string text = "jkhwp/ qx";
  constexpr std::array kKeys{kUp, kDown, kPageUp, kPageDown, kEnter, kEscape, kBackspace};
  unsigned random = 1;
  for (int i = 0; i < 20'000; ++i) {
    random = random * 1664525U + 1013904223U;
    const auto choice = (random >> 16U) % 16;
    if (choice < text.size()) {
      press(text.substr(choice, 1));
    } else {
      press(kKeys.at(choice % kKeys.size()));
    }
    if (choice == 3) show(i % 2 == 0 ? std::vector<std::string>{} : std::vector<std::string>{"/a"});
    const std::size_t height = choice;
    ASSERT_EQ(lines(height).size(), height);
  }
}

TEST(KeysOf, Sequences_AreParsed) {
  using Keys = std::vector<Key>;
  EXPECT_EQ(keys_of("q"), Keys{'q'});
  EXPECT_EQ(keys_of("\x1b[A\x1b[B\x1bOA"), (Keys{kUp, kDown, kUp}));
  EXPECT_EQ(keys_of("\x1b[5~\x1b[6~\r\n"), (Keys{kPageUp, kPageDown, kEnter, kEnter}));
  EXPECT_EQ(keys_of("\x1b"), Keys{kEscape});
  EXPECT_EQ(keys_of("\x7f\b"), (Keys{kBackspace, kBackspace}));
  EXPECT_EQ(keys_of("\x1b[24~"), Keys{});
  EXPECT_EQ(keys_of("\xc3\xa4\x01"), Keys{});
}

TEST(KeysOf, BeginOfASequence_IsKnown) {
  for (const char* bytes : {"\x1b", "\x1b[", "\x1bO", "\x1b[5", "q\x1b[", "\x1b[A\x1b"}) {
    EXPECT_TRUE(ends_in_sequence(bytes)) << bytes + 1;
  }
  for (const char* bytes : {"", "q", "\x1b[A", "\x1b[5~", "\x1bq", "\x1b[24"}) {
    EXPECT_FALSE(ends_in_sequence(bytes)) << bytes;
  }
}

}  // namespace
}  // namespace zklock::cli::testing
