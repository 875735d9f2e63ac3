// SPDX-License-Identifier: Apache-2.0
#include "zklock/core/lock_delay.h"

#include <string>
#include <vector>

#include <gtest/gtest.h>

namespace zklock::core {
namespace {

using namespace std::chrono_literals;

TEST(DelayMarker, Name_HasLengthTokenAndSequence) {
  const auto marker = DelayMarker::make(2500ms, {4294967342}, {42});
  EXPECT_EQ(marker.name, "delay-2500-4294967342-0000000042");
  const auto parsed = DelayMarker::parse(marker.name);
  ASSERT_TRUE(parsed);
  EXPECT_EQ(parsed->name, marker.name);
  EXPECT_EQ(parsed->length, 2500ms);
  EXPECT_EQ(parsed->owner_sequence, Sequence{42});
}

TEST(DelayMarker, ExtremeValues_AreParsed) {
  for (const auto& name :
       {DelayMarker::make(kLongestLockDelay, {9223372036854775807}, {2147483647}).name,
        DelayMarker::make(1ms, {1}, {0}).name}) {
    EXPECT_TRUE(DelayMarker::parse(name)) << name;
  }
}

std::vector<std::string> names(const std::vector<DelayMarker>& markers) {
  std::vector<std::string> result;
  for (const auto& marker : markers) result.push_back(marker.name);
  return result;
}

TEST(DelayMarker, ContenderMissing_IsAnOrphan) {
  using Names = std::vector<std::string>;
  const std::string of_five = DelayMarker::make(1s, {70}, {5}).name;
  const std::string of_six = DelayMarker::make(2s, {71}, {6}).name;
  EXPECT_EQ(names(orphans(Names{})), Names{});
  EXPECT_EQ(names(orphans(Names{"lock-0000000005", "count"})), Names{});
  EXPECT_EQ(names(orphans(Names{of_five, "lock-0000000005"})), Names{});
  EXPECT_EQ(names(orphans(Names{"lock-0000000005", of_five, of_six})), Names{of_six});
  EXPECT_EQ(names(orphans(Names{of_five, "lock-0000000007", of_six})), (Names{of_five, of_six}));
  EXPECT_EQ(names(orphans(Names{of_five, "__READ__0000000005"})), Names{})
      << "a writer that goes over to reading";
  EXPECT_EQ(names(orphans(Names{of_five, "release-request-0000000005"})), Names{of_five});
}

}  // namespace
}  // namespace zklock::core
