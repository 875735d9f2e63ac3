// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

#include "conformance/chronicle.h"

namespace zklock::testing {

inline std::string to_string(LockEvent::Kind kind) {
  switch (kind) {
    case LockEvent::Kind::waiting: return "waiting";
    case LockEvent::Kind::acquired: return "acquired";
    case LockEvent::Kind::suspended: return "suspended";
    case LockEvent::Kind::resumed: return "resumed";
    case LockEvent::Kind::release_requested: return "release_requested";
    case LockEvent::Kind::expiring: return "expiring";
    case LockEvent::Kind::expired: return "expired";
    case LockEvent::Kind::released: return "released";
    case LockEvent::Kind::lost: return "lost";
  }
  return "?";
}

// What a listener heard: "waiting 2", "acquired", ...
class EventLog {
 public:
  LockListener listener() {
    return [this](const LockEvent& event) {
      std::string text = to_string(event.kind);
      if (event.kind == LockEvent::Kind::waiting) text += " " + std::to_string(event.position);
      events_.add(event);
      texts_.add(text);
    };
  }
  std::vector<std::string> texts() const { return texts_.all(); }
  std::vector<LockEvent> all() const { return events_.all(); }
  // Waits until exactly these have come; false when others have, or they do not come.
  bool reaches(const std::vector<std::string>& expected) const {
    return texts_.reaches(expected.size()) && texts() == expected;
  }

 private:
  Chronicle<LockEvent> events_;
  Chronicle<std::string> texts_;
};

}  // namespace zklock::testing
