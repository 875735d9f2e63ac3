// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <functional>
#include <iosfwd>
#include <optional>
#include <string>
#include <string_view>

#include "zklock/export.h"
#include "zklock/fencing_token.h"
#include "zklock/hold.h"
#include "zklock/owner.h"

namespace zklock {

/// An event of one contender of a lock. LockOptions::listener receives it.
///
/// | kind      | reported                                                      | next event      |
/// |-----------|---------------------------------------------------------------|-----------------|
/// | waiting   | An earlier contender conflicts, or a lock delay lasts.        | waiting,        |
/// |           | Reported when the contender is enqueued and when the znode    | acquired, none  |
/// |           | that it watches is deleted, not at every step of the queue    |                 |
/// | acquired  | It holds. If it is disconnected at the grant, `suspended` and | any row below   |
/// |           | `resumed` are not reported for that time                      |                 |
/// | suspended | Disconnected while it holds; HoldState::suspended             | any row below   |
/// | resumed   | Connected again after `suspended`; the lease is valid         | any row below   |
/// |           |                                                               | acquired        |
/// | release_  | request_release() requests the release. Reported again at the | any row below   |
/// | requested | next request                                                  | acquired        |
/// | expiring  | The maximum hold time ends soon. Reported again after         | any row but the |
/// |           | renew(). Omitted if the process was paused until `expired`    | first two       |
/// | expired   | The maximum hold time has ended, and the hold is lost         | none            |
/// | released  | The last count was released                                   | none            |
/// | lost      | The lease expired, the session or the znode was lost, or the  | none            |
/// |           | release was forced                                            |                 |
///
/// Only the first grant of an owner and its last release cause an event; re-entry causes none. Each
/// `acquired` is followed by exactly one of `expired`, `released` and `lost`, unless the object is
/// destroyed before. If a contender leaves the queue without a grant, there is no event: the
/// waiting call reports it.
/// Source: the states of org.apache.curator.framework.state.ConnectionState and the rules for
/// recipes at each state, applied to one hold.
///
/// Thread-safety: a value.
struct LockEvent {
  /// The rows of the table above.
  enum class Kind {
    waiting,
    acquired,
    suspended,
    resumed,
    release_requested,
    expiring,
    expired,
    released,
    lost
  };
  /// The kind of the event.
  Kind kind = Kind::waiting;
  std::string path;  ///< lock path
  Owner owner;       ///< owner of the contender
  /// Token of the grant. For a waiting contender, the token that it would get, if that is known. It
  /// is unknown while a contender of a PriorityMutex waits at the gate.
  FencingToken token;
  std::size_t position = 0;  ///< for waiting: number of contenders ahead
  /// The index of the path (MultiMutex) or of the client (QuorumMutex) in the constructor.
  std::size_t part_index = 0;
  std::optional<LossReason> reason = {};  ///< for `lost` and `expired`
};

/// Returns the name of the enumerator, for example "waiting"; "unknown" for any other value.
[[nodiscard]] ZKLOCK_EXPORT std::string_view to_string(LockEvent::Kind kind) noexcept;
/// Writes to_string().
ZKLOCK_EXPORT std::ostream& operator<<(std::ostream& out, LockEvent::Kind kind);

/// Receives the events; see LockOptions::listener and QuorumOptions::listener.
using LockListener = std::function<void(const LockEvent&)>;

}  // namespace zklock
