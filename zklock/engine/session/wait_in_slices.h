// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <chrono>

#include "zklock/client/port/mutex.h"
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

/// Blocks until `done()` returns true. Returns false if `deadline` came first, by LeaseClock.
/// Calls `done` with `mutex` held. The thread-safety analysis is off, because it does not see that
/// `done` requires the same mutex.
template <class Done>
bool wait_in_slices(client::Condition& changed, client::Mutex& mutex, Deadline deadline, Done done)
    ZKLOCK_REQUIRES(mutex) ZKLOCK_NO_THREAD_SAFETY_ANALYSIS {
  if (done()) return true;
  const client::VirtualAlarm alarm(deadline, changed);
  do {
    const auto now = LeaseClock::now();
    if (deadline.has_passed(now)) return false;
    changed.wait_for(mutex, slice_before(deadline, now, std::chrono::seconds(1)));
  } while (!done());
  return true;
}

}  // namespace zklock::detail
