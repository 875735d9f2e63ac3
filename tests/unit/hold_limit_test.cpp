// SPDX-License-Identifier: Apache-2.0
#include "zklock/core/hold_limit.h"

#include <chrono>

#include <gtest/gtest.h>

namespace zklock::core {
namespace {

using namespace std::chrono_literals;

constexpr Instant kStart(100s);

TEST(HoldLimit, Warning_PrecedesTheEnd) {
  struct Case {
    HoldLimit limit;
    Instant warning;
    Instant end;
  };
  const Case cases[] = {
      {{}, Instant::max(), Instant::max()},
      {{.notice = 1s}, Instant::max(), Instant::max()},
      {{.longest = Duration::max()}, Instant::max(), Instant::max()},
      {{.longest = 8s}, kStart + 6s, kStart + 8s},  // a quarter before the end
      {{.longest = 8s, .notice = 1s}, kStart + 7s, kStart + 8s},
      {{.longest = 8s, .notice = 8s}, kStart, kStart + 8s},
      {{.longest = 8s, .notice = Duration::max()}, kStart, kStart + 8s},
  };
  for (const Case& each : cases) {
    EXPECT_EQ(each.limit.warning(kStart), each.warning);
    EXPECT_EQ(each.limit.end(kStart), each.end);
  }
}

}  // namespace
}  // namespace zklock::core
