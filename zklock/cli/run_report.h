// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <optional>
#include <string>

#include <sys/types.h>

#include "zklock/cli/core/duration.h"
#include "zklock/cli/core/run_fsm.h"
#include "zklock/cli/held_lock.h"
#include "zklock/cli/run_options.h"
#include "zklock/client.h"
#include "zklock/hold.h"
#include "zklock/lock_state.h"

namespace zklock::cli {

/// The facts of one run, for its last lines and for the report.
struct RunFacts {
  const RunOptions& options;
  std::string node = {};
  std::string token = {};
  Duration session_timeout{};
  Duration grace{};
  Duration lead{};
  Instant queued_at{};
  std::optional<Instant> granted_at = {};
  std::optional<std::chrono::system_clock::time_point> started_at = {};
  std::optional<Instant> bound = {};  ///< the last one
  std::optional<pid_t> pid = {};
  std::optional<Instant> term_at = {};
  std::optional<Instant> kill_at = {};
  std::optional<Duration> kill_delay = {};  ///< the longest
  std::optional<Instant> ended_at = {};
  std::optional<Instant> swept_at = {};
  std::optional<int> status = {};  ///< of the command, as of waitpid()
  std::optional<LossReason> loss = {};
  bool ended_for_lock = false;
  int leftover = 0;                       ///< processes that the command has left
  std::string blocker = {};               ///< if the lock was not acquired
  std::optional<int> ending_signal = {};  ///< last INT, TERM or QUIT; else HUP
  int exit_code = 0;
};

/// Returns the report: one JSON object of the schema zklock.run/1, and a line end. The guide
/// zklock/guides/json.md lists its fields.
[[nodiscard]] std::string report_text(const RunFacts& facts);

/// Returns the last line of a run whose command was ended for the sake of the lock, or whose lock
/// was lost. Returns an empty text for every other run.
[[nodiscard]] std::string loss_text(const RunFacts& facts, Instant now);

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
/// Returns the line for a release that is_settled() did not confirm.
[[nodiscard]] std::string unconfirmed_text(Duration session_timeout);

/// The names of the cause of a loss.
struct LossNames {
  const char* in_report;  ///< "lease", "session", "node", "limit", "forced" or "closed"
  const char* in_text;    ///< for a sentence, such as "its session ended"
};
[[nodiscard]] LossNames names_of(LossReason reason) noexcept;

}  // namespace zklock::cli
