// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <chrono>

#include "zklock/client/port/test_seam.h"
#include "zklock/core/session.h"
#include "zklock/deadline.h"

namespace zklock::detail {

/// Returns how long to wait on a condition variable before `deadline` is checked again: until the
/// deadline, but `longest` at most. The clock of a condition variable stands still while the
/// machine is suspended. Virtual time passes without it, so a client::VirtualAlarm ends the wait.
inline core::Duration slice_before(Deadline deadline, core::Instant now, core::Duration longest) {
  if (deadline.is_never()) return longest;
  if (deadline.has_passed(now)) return {};  // the difference to Deadline::passed() overflows
  if (client::test_seam() != nullptr) return longest;
  return std::min<core::Duration>(longest, deadline.at() - now);
}

}  // namespace zklock::detail
