// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstddef>
#include <optional>
#include <string>
#include <utility>

#include "zklock/core/session.h"
#include "zklock/health.h"

namespace zklock::core {

/// The state of a client, as far as its health depends on it.
struct HealthFacts {
  bool closed = false;
  bool auth_refused = false;
  bool connected = false;
  std::optional<Duration> disconnected_for = {};  ///< nothing before the first connection
  std::string connection_problem = {};
  Duration timeout{};                                        ///< T; 0 before the first connection
  std::optional<Duration> lease_left = {};                   ///< nothing if no lease is maintained
  std::array<std::optional<Duration>, 3> session_ages = {};  ///< of the latest sessions
  std::size_t refused_deletes = 0;
  /// The user code that has run longest after the end of its hold, and for how long.
  std::optional<std::pair<std::string, Duration>> oldest_callback = {};
  std::size_t node_bytes = 0;
  std::size_t node_limit_bytes = 0;
  std::size_t watch_bytes = 0;
  std::size_t watch_limit_bytes = 0;
};

/// Returns the problems among these facts, by the table at HealthProblem. A closed client has no
/// other problem.
Health judge(const HealthFacts& facts);

}  // namespace zklock::core
