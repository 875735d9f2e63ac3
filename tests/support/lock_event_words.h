// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

#include "zklock/lock_event.h"

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

// Returns "waiting 2", "acquired", ...
inline std::string describe(const LockEvent& event) {
  std::string text = to_string(event.kind);
  if (event.kind == LockEvent::Kind::waiting) text += " " + std::to_string(event.position);
  return text;
}

}  // namespace zklock::testing
