// SPDX-License-Identifier: Apache-2.0
#include "zklock/version.h"

#include <string>

#include <gtest/gtest.h>

namespace zklock {
namespace {

TEST(Version, String_HasTheThreeNumbers) {
  EXPECT_EQ(ZKLOCK_VERSION_STRING, std::to_string(ZKLOCK_VERSION_MAJOR) + "." +
                                       std::to_string(ZKLOCK_VERSION_MINOR) + "." +
                                       std::to_string(ZKLOCK_VERSION_PATCH));
}

TEST(Version, Number_SplitsIntoTheThreeNumbers) {
  EXPECT_EQ(ZKLOCK_VERSION / 10000, ZKLOCK_VERSION_MAJOR);
  EXPECT_EQ(ZKLOCK_VERSION / 100 % 100, ZKLOCK_VERSION_MINOR);
  EXPECT_EQ(ZKLOCK_VERSION % 100, ZKLOCK_VERSION_PATCH);
}

}  // namespace
}  // namespace zklock
