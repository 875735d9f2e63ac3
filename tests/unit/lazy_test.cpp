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
using LazySettings = Lazy<Settings>;

TEST(Lazy, NotWritten_IsTheDefault) {
  LazySettings settings;
  EXPECT_FALSE(settings);
  EXPECT_EQ(*settings, Settings{});
  EXPECT_EQ(settings->tries, 3);
  EXPECT_FALSE(settings) << "it was only read";
  settings.write().name = "a";
  EXPECT_TRUE(settings);
  EXPECT_EQ(*settings, (Settings{.name = "a"}));
}

TEST(Lazy, NotWritten_SharesOneObject) {
  const LazySettings one;
  const LazySettings other;
  EXPECT_EQ(&*one, &*other);
  EXPECT_EQ(sizeof(one), sizeof(void*)) << "that is what it is for";
}

TEST(Lazy, WrittenAgain_KeepsEarlierValues) {
  LazySettings settings;
  settings.write().name = "a";
  settings.write().tries = 5;
  EXPECT_EQ(*settings, (Settings{.tries = 5, .name = "a"}));
  const LazySettings untouched;
  EXPECT_EQ(*untouched, Settings{}) << "what all others are is not written to";
}

TEST(Lazy, ConstructedFromDefault_AllocatesNothing) {
  EXPECT_FALSE(LazySettings(Settings{}));
  const LazySettings made(Settings{.tries = 1});
  EXPECT_TRUE(made);
  EXPECT_EQ(made->tries, 1);
}

TEST(Lazy, Copy_IsIndependent) {
  LazySettings settings(Settings{.tries = 1});
  const LazySettings copy(settings);
  LazySettings assigned;
  assigned = settings;
  settings.write().tries = 2;
  EXPECT_EQ(copy->tries, 1);
  EXPECT_EQ(assigned->tries, 1);
  assigned = LazySettings();
  EXPECT_FALSE(assigned);
  const LazySettings nothing;
  EXPECT_FALSE(LazySettings(nothing)) << "a copy of nothing is nothing";
}

TEST(Lazy, MovedFrom_IsTheDefault) {
  LazySettings settings(Settings{.tries = 1});
  const auto* const object = &*settings;
  const LazySettings moved(std::move(settings));
  EXPECT_EQ(&*moved, object) << "it is not made anew";
  EXPECT_FALSE(settings);  // NOLINT(bugprone-use-after-move): that is the promise
  EXPECT_EQ(*settings, Settings{});
  static_assert(std::is_nothrow_move_constructible_v<LazySettings>);
}

TEST(Lazy, Comparison_IsByValue) {
  LazySettings written;
  written.write();
  EXPECT_TRUE(written) << "it was written to, and is as before";
  EXPECT_EQ(written, LazySettings());
  EXPECT_EQ(LazySettings(Settings{.tries = 1}), LazySettings(Settings{.tries = 1}));
  EXPECT_NE(LazySettings(Settings{.tries = 1}), LazySettings());
}

TEST(Lazy, MoveOnlyType_IsHeld) {
  Lazy<std::unique_ptr<int>> pointer;
  EXPECT_EQ(*pointer, nullptr);
  pointer.write() = std::make_unique<int>(7);
  EXPECT_EQ(**pointer, 7);
}

}  // namespace
}  // namespace zklock::core
