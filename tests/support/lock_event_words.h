// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

#include "zklock/lock_event.h"

namespace zklock::testing {

// Returns "waiting 2", "acquired", ...
inline std::string describe(const LockEvent& event) {
  std::string text(to_string(event.kind));
  if (event.kind == LockEvent::Kind::waiting) text += " " + std::to_string(event.position);
  return text;
}

}  // namespace zklock::testing
