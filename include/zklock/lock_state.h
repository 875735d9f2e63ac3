// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <cstddef>
#include <optional>
#include <string>
#include <vector>

#include "zklock/export.h"
#include "zklock/participant.h"

namespace zklock {

/// State of a lock, as seen by a client that does not contend.
///
/// Thread-safety: a value.
struct LockState {
  /// The holders, in the order of arrival. A mutex has at most one; readers and holders of permits
  /// can be several. All other contenders wait. A contender that has released is listed until its
  /// znode is deleted; the next contender may already hold. Empty during an
  /// ExclusiveOptions::lock_delay. Also empty if the znode of a semaphore's SharedCount is missing,
  /// unreadable, or contains no number. Held permits stay valid then.
  std::vector<Participant> holders;
  std::size_t waiting = 0;  ///< number of contenders that do not hold
  std::size_t holding = 0;  ///< number of holders; `holders` may list fewer

  /// Length of the ExclusiveOptions::lock_delay that follows a lost hold; nullopt without a delay.
  /// It is the whole length, not the time that remains: only the client of a waiting contender
  /// measures that.
  std::optional<std::chrono::milliseconds> lock_delay = std::nullopt;

  /// Returns whether no contender holds or waits. That is also true during a lock delay if no
  /// contender waits for its end. The next contender then waits.
  [[nodiscard]] bool is_free() const noexcept { return holders.empty() && waiting == 0; }
  /// Compares all members.
  friend bool operator==(const LockState&, const LockState&) = default;
};

/// Returns a text for people about `state` at the time `now`:
///
/// | state                      | text                                                           |
/// |----------------------------|----------------------------------------------------------------|
/// | no contender, no delay     | free                                                           |
/// | one holder                 | held by db7 pid 812 (billing, "job 42") for 4 m 10 s; 3 wait   |
/// | several holders            | held by db7 pid 812 (billing) and 2 more; none waits           |
/// | a lock delay               | lock delay of 4 s; 3 wait                                      |
/// | too few free permits       | not held; 3 wait                                               |
///
/// The text names the first holder only. It has the time of the hold only if that holder's
/// Participant::held_since is set. The text is printable.
[[nodiscard]] ZKLOCK_EXPORT std::string to_string(
    const LockState& state,
    std::chrono::system_clock::time_point now = std::chrono::system_clock::now());

/// Returns a duration for people, in its two largest units. A second unit of 0 is left out.
/// Examples are "310 ms", "12 s", "4 m 10 s", "3 h 5 m", "2 d 4 h" and "1 h". A negative duration
/// is "0 ms".
[[nodiscard]] ZKLOCK_EXPORT std::string duration_text(std::chrono::milliseconds duration);

}  // namespace zklock
