// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <optional>
#include <string>

#include "zklock/cli/core/duration.h"
#include "zklock/cli/held_lock.h"
#include "zklock/client.h"
#include "zklock/deadline.h"
#include "zklock/error.h"
#include "zklock/hold.h"
#include "zklock/lock_state.h"

namespace zklock::cli {

/// Replaces names of the library's API: "check the hosts" for "check ClientOptions::hosts".
[[nodiscard]] std::string without_api_names(std::string text);

/// Returns the cause of the error and its code, without the operation and the path, which zklock's
/// own lines have already.
[[nodiscard]] std::string text_of(const Error& error);

/// Returns why the client has no connection: ": 127.0.0.1:1 refused the connection". Returns an
/// empty text if that is unknown.
[[nodiscard]] std::string connection_problem(const Client& client);

/// Returns the state of the lock that `refused` could not acquire, for people: "held by db7 pid 812
/// (billing); 3 wait". Returns an empty text if no server answers. Blocks for a second at most.
[[nodiscard]] std::string blocker_text(const Hold& refused, const LockChoice& lock);

/// Returns the same for a known state; an empty text if the lock is free.
[[nodiscard]] std::string blocker_text(const LockState& state, const LockChoice& lock);

/// Returns the line for a lock that was not acquired: "not acquired in 30 s: held by ...". `wait`:
/// the time limit, if there was one. `blocker`: the result of blocker_text().
[[nodiscard]] std::string not_acquired_text(const std::optional<Duration>& wait,
                                            const std::string& blocker);

/// How long a command waits at its end for is_settled().
inline constexpr std::chrono::seconds kReleaseTimeout{5};

/// Blocks until the ensemble has confirmed the release, or the withdrawal from the queue. Returns
/// false if it does not do so before the deadline, or if there is no connection.
[[nodiscard]] bool is_settled(Client& client, Deadline deadline);

/// Returns the line for a release that is_settled() did not confirm.
[[nodiscard]] std::string unconfirmed_text(Duration session_timeout);

}  // namespace zklock::cli
