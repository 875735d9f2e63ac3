// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "zklock/version.h"

#include <chrono>
#include <string>
#include <string_view>
#include <vector>

#include "zklock/export.h"

namespace zklock {

/// Whether a client can do its work.
///
/// | state    | meaning                                          | a probe should              |
/// |----------|--------------------------------------------------|-----------------------------|
/// | ok       | connected, and nothing is wrong                  |                             |
/// | degraded | something is wrong that can pass by itself       | report "alive", and "not    |
/// |          |                                                  | ready" if work needs locks  |
/// | failed   | something is wrong that does not pass by itself  | restart the process, or     |
/// |          |                                                  | call an operator            |
enum class HealthState { ok, degraded, failed };

/// One thing that is wrong with a client. T is the session timeout.
///
/// | kind             | state    | reported                                                         |
/// |------------------|----------|------------------------------------------------------------------|
/// | closed           | failed   | after close()                                                    |
/// | auth_refused     | failed   | after the servers refused the credential, or required a scheme   |
/// |                  |          | that zklock does not support, such as SASL                       |
/// | callback_stuck   | failed   | a leader's function or a loss callback still runs max(3 T, 30 s) |
/// |                  |          | after the end of its hold                                        |
/// | delete_refused   | failed   | an ACL refuses the delete of a lock znode of this client         |
/// | callback_slow    | degraded | as callback_stuck, but max(T, 10 s) after the end                |
/// | disconnected     | degraded | there is no connection                                           |
/// | lease_low        | degraded | a lock is held, or its znode is retained (keep_idle_for), and    |
/// |                  |          | less than T/4 of the lease is left                               |
/// | sessions_short   | degraded | three sessions began within the last 10 T                        |
/// | node_bytes_high  | degraded | the lock znodes use 80 % of ClientOptions::max_node_bytes        |
/// | watch_bytes_high | degraded | the watches use 80 % of ClientOptions::max_watch_bytes           |
///
/// Thread-safety: a value.
struct HealthProblem {
  /// The rows of the table above.
  enum class Kind {
    closed,
    auth_refused,
    callback_stuck,
    delete_refused,
    callback_slow,
    disconnected,
    lease_low,
    sessions_short,
    node_bytes_high,
    watch_bytes_high,
  };
  /// The row, and the state that it causes.
  Kind kind = Kind::closed;
  HealthState state = HealthState::failed;
  std::string text = {};           ///< one line, for people
  std::chrono::nanoseconds age{};  ///< time since its begin; 0: unknown
};

/// The result of Client::health(). A client that only waits for a lock is healthy.
///
/// Thread-safety: a value.
struct Health {
  /// The worst state of all problems.
  HealthState state = HealthState::ok;
  std::vector<HealthProblem> problems = {};  ///< in the order of HealthProblem::Kind
};

/// Return the name of the enumerator, for example "degraded"; "unknown" for any other value.
[[nodiscard]] ZKLOCK_EXPORT std::string_view to_string(HealthState state) noexcept;
[[nodiscard]] ZKLOCK_EXPORT std::string_view to_string(HealthProblem::Kind kind) noexcept;

}  // namespace zklock
