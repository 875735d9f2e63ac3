// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <condition_variable>
#include <memory>
#include <mutex>

#include <gtest/gtest.h>

#include "conformance/leader_fixture.h"
#include "conformance/overlap_detector.h"

namespace zklock::testing {

// Blocks until the leadership has ended.
inline void wait_for_the_end(const Leadership& leadership) {
  std::mutex mutex;
  std::condition_variable_any never;
  std::unique_lock lock(mutex);
  never.wait(lock, leadership.end_token(), [] { return false; });
}

class Election : public LeaderTest<LockTest> {
 protected:
  // Returns a function that leads until its leadership ends.
  LeaderElection::Function until_the_end() {
    return [this](const Leadership& leadership) {
      const OverlapDetector::Call call(overlaps_, leadership.token());
      wait_for_the_end(leadership);
    };
  }

  OverlapDetector overlaps_;
  const std::unique_ptr<Client> client_ = connect();
  const std::unique_ptr<Client> other_ = connect();
};

}  // namespace zklock::testing
