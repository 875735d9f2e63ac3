// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "tests/model/cohort_fixture.h"

namespace zklock::model {

inline constexpr std::chrono::milliseconds kKept{5'000};

// The interval of the check whether the time is over.
inline constexpr std::chrono::milliseconds kTick{300};

class IdleLock : public CohortFixture {
 protected:
  void SetUp() override {
    CohortFixture::SetUp();
    lock_.use(0);
  }
  static Request kept(int batch = 1) { return on({.batch = batch, .keep_idle_for = kKept}); }
  /// Acquires and releases the lock. It is then retained, and the queue is watched.
  std::size_t idle(int batch = 1) {
    const auto call = granted(0, kept(batch));
    release(call);
    EXPECT_EQ(lock_.nodes().size(), 1U);
    EXPECT_EQ(lock_.held(), 0U);
    return call;
  }
  void expect_released() {
    run();
    EXPECT_TRUE(lock_.nodes().empty());
    expect_rest();
  }
};

}  // namespace zklock::model
