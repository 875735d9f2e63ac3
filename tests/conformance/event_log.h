// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "conformance/chronicle.h"
#include "support/lock_event_words.h"

namespace zklock::testing {

// Records the events of a lock listener, with a text for each: "waiting 2", "acquired", ...
class EventLog {
 public:
  LockListener listener() {
    return [this](const LockEvent& event) {
      events_.add(event);
      texts_.add(describe(event));
    };
  }
  std::vector<std::string> texts() const { return texts_.all(); }
  std::vector<LockEvent> all() const { return events_.all(); }
  // Waits until the recorded texts are exactly `expected`. Fails if others arrived or if some are
  // missing after kTestTimeout.
  ::testing::AssertionResult reaches(const std::vector<std::string>& expected) const {
    texts_.reaches(expected.size());
    const auto received = texts();
    if (received == expected) return ::testing::AssertionSuccess();
    return ::testing::AssertionFailure() << "received " << ::testing::PrintToString(received);
  }

 private:
  Chronicle<LockEvent> events_;
  Chronicle<std::string> texts_;
};

}  // namespace zklock::testing
