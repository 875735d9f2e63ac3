// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <optional>
#include <string>
#include <vector>

#include <sys/types.h>

#include "zklock/cli/core/duration.h"
#include "zklock/cli/core/run_fsm.h"

namespace zklock::cli {

/// The facts of one run, for its last lines and for the report.
struct RunFacts {
  std::string path;
  std::string kind;
  std::string note;
  std::vector<std::string> command;
  std::string node;
  std::string token;
  Duration session_timeout{};
  Duration grace{};
  Duration lead{};
  std::optional<Duration> max_hold;
  Instant queued_at{};
  std::optional<Instant> granted_at;
  std::optional<std::chrono::system_clock::time_point> started_at;
  std::optional<Instant> bound;  ///< the last one
  std::optional<pid_t> pid;
  std::optional<Instant> term_at;
  std::optional<Instant> kill_at;
  std::optional<Duration> kill_delay;  ///< the longest
  std::optional<Instant> ended_at;
  std::optional<Instant> swept_at;
  std::optional<int> status;  ///< of the command, as of waitpid()
  std::optional<LossReason> loss;
  bool ended_for_lock = false;
  int leftover = 0;                  ///< processes that the command has left
  std::string blocker;               ///< if the lock was not acquired
  std::optional<int> ending_signal;  ///< last INT, TERM or QUIT; else HUP
  int exit_code = 0;
};

/// Returns the report: one JSON object of the schema zklock.run/1, and a line end. The guide
/// zklock/guides/command.md lists its fields.
[[nodiscard]] std::string report_text(const RunFacts& facts);

/// Returns the last line of a run whose command was ended for the sake of the lock, or whose lock
/// was lost. Returns an empty text for every other run.
[[nodiscard]] std::string loss_text(const RunFacts& facts, Instant now);

/// The names of the cause of a loss.
struct LossNames {
  const char* in_report;  ///< "lease", "session", "node", "limit", "forced" or "closed"
  const char* in_text;    ///< for a sentence, such as "its session ended"
};
[[nodiscard]] LossNames names_of(LossReason reason) noexcept;

}  // namespace zklock::cli
