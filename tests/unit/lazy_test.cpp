// SPDX-License-Identifier: Apache-2.0
#include "zklock/core/lazy.h"

#include <memory>
#include <string>
#include <type_traits>
#include <utility>

#include <gtest/gtest.h>

namespace zklock::core {
namespace {

/// A type whose T{} is not all zero.
struct Settings {
  int tries = 3;
  std::string name = {};
  friend bool operator==(const Settings&, const Settings&) = default;
};
using SeldomSettings = Lazy<Settings>;

TEST(Lazy, NotWritten_IsTheDefault) {
  SeldomSettings settings;
  EXPECT_FALSE(settings);
  EXPECT_EQ(*settings, Settings{});
  EXPECT_EQ(settings->tries, 3);
  EXPECT_FALSE(settings) << "it was only read";
  settings.write().name = "a";
  EXPECT_TRUE(settings);
  EXPECT_EQ(*settings, (Settings{.name = "a"}));
}

TEST(Lazy, NotWritten_SharesOneObject) {
  const SeldomSettings one;
  const SeldomSettings other;
  EXPECT_EQ(&*one, &*other);
  EXPECT_EQ(sizeof(one), sizeof(void*)) << "that is what it is for";
}

TEST(Lazy, WrittenAgain_KeepsEarlierValues) {
  SeldomSettings settings;
  settings.write().name = "a";
  settings.write().tries = 5;
  EXPECT_EQ(*settings, (Settings{.tries = 5, .name = "a"}));
  const SeldomSettings untouched;
  EXPECT_EQ(*untouched, Settings{}) << "what all others are is not written to";
}

TEST(Lazy, ConstructedFromDefault_AllocatesNothing) {
  EXPECT_FALSE(SeldomSettings(Settings{}));
  const SeldomSettings made(Settings{.tries = 1});
  EXPECT_TRUE(made);
  EXPECT_EQ(made->tries, 1);
}

TEST(Lazy, Copy_IsIndependent) {
  SeldomSettings settings(Settings{.tries = 1});
  const SeldomSettings copy(settings);
  SeldomSettings assigned;
  assigned = settings;
  settings.write().tries = 2;
  EXPECT_EQ(copy->tries, 1);
  EXPECT_EQ(assigned->tries, 1);
  assigned = SeldomSettings();
  EXPECT_FALSE(assigned);
  const SeldomSettings nothing;
  EXPECT_FALSE(SeldomSettings(nothing)) << "a copy of nothing is nothing";
}

TEST(Lazy, SelfAssignment_KeepsTheValue) {
  SeldomSettings settings(Settings{.tries = 1});
  const SeldomSettings& same = settings;
  settings = same;
  EXPECT_EQ(settings->tries, 1);
}

TEST(Lazy, MovedFrom_IsTheDefault) {
  SeldomSettings settings(Settings{.tries = 1});
  const auto* const object = &*settings;
  const SeldomSettings moved(std::move(settings));
  EXPECT_EQ(&*moved, object) << "it is not made anew";
  EXPECT_FALSE(settings);  // NOLINT(bugprone-use-after-move): that is the promise
  EXPECT_EQ(*settings, Settings{});
  static_assert(std::is_nothrow_move_constructible_v<SeldomSettings>);
}

TEST(Lazy, Reset_IsTheDefault) {
  SeldomSettings settings(Settings{.tries = 1});
  settings.reset();
  EXPECT_FALSE(settings);
  EXPECT_EQ(settings->tries, 3);
}

TEST(Lazy, Comparison_IsByValue) {
  SeldomSettings written;
  written.write();
  EXPECT_TRUE(written) << "it was written to, and is as before";
  EXPECT_EQ(written, SeldomSettings());
  EXPECT_EQ(SeldomSettings(Settings{.tries = 1}), SeldomSettings(Settings{.tries = 1}));
  EXPECT_NE(SeldomSettings(Settings{.tries = 1}), SeldomSettings());
}

TEST(Lazy, MoveOnlyType_IsHeld) {
  Lazy<std::unique_ptr<int>> pointer;
  EXPECT_EQ(*pointer, nullptr);
  pointer.write() = std::make_unique<int>(7);
  EXPECT_EQ(**pointer, 7);
}

}  // namespace
}  // namespace zklock::core
