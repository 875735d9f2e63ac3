// SPDX-License-Identifier: Apache-2.0
#include "zklock/core/few.h"

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace zklock::core {
namespace {

using ::testing::ElementsAre;

TEST(Few, Default_IsEmpty) {
  const Few<std::string> few;
  EXPECT_TRUE(few.empty());
  EXPECT_EQ(few.begin(), few.end());
}

TEST(Few, SingleElement_IsStoredInline) {
  Few<std::string> few;
  few.push_back("a");
  const auto* const object = reinterpret_cast<const char*>(&few);
  const auto* const element = reinterpret_cast<const char*>(few.begin());
  EXPECT_GE(element, object);
  EXPECT_LT(element, object + sizeof(few));
  EXPECT_THAT(few, ElementsAre("a"));
}

TEST(Few, SeveralElements_KeepTheirOrder) {
  Few<std::string> few;
  for (const char* each : {"a", "b", "c"}) few.push_back(each);
  EXPECT_THAT(few, ElementsAre("a", "b", "c"));
  EXPECT_EQ(few.front(), "a");
  EXPECT_EQ(few[2], "c");
}

TEST(Few, Vector_IsConverted) {
  EXPECT_THAT(Few<int>(std::vector<int>{}), ElementsAre());
  EXPECT_THAT(Few<int>(std::vector{1}), ElementsAre(1));
  EXPECT_THAT(Few<int>(std::vector{1, 2}), ElementsAre(1, 2));
}

TEST(Few, Erase_RemovesTheElement) {
  Few<int> few(std::vector{1, 2, 3});
  few.erase(few.begin() + 1);
  EXPECT_THAT(few, ElementsAre(1, 3));
  few.erase(few.begin());
  few.erase(few.begin());
  EXPECT_TRUE(few.empty());
  few.push_back(4);
  EXPECT_THAT(few, ElementsAre(4));
  few.erase(few.begin());
  EXPECT_TRUE(few.empty());
}

TEST(Few, Exchange_LeavesItEmpty) {
  Few<std::shared_ptr<int>> few;
  few.push_back(std::make_shared<int>(1));
  const auto taken = std::exchange(few, {});
  EXPECT_TRUE(few.empty());
  EXPECT_EQ(taken.size(), 1U);
  EXPECT_EQ(taken[0].use_count(), 1);
}

}  // namespace
}  // namespace zklock::core
