// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>
#include <memory>
#include <optional>

#include "zklock/cli/core/duration.h"
#include "zklock/cli/held_lock.h"
#include "zklock/cli/io/controlling_terminal.h"
#include "zklock/cli/io/events.h"
#include "zklock/cli/io/guardian.h"
#include "zklock/cli/io/report_file.h"
#include "zklock/cli/run.h"
#include "zklock/cli/run_options.h"
#include "zklock/cli/run_report.h"
#include "zklock/client.h"

namespace zklock::cli {

/// Makes the runs of one command. They have the signals, the guardian and the client in common.
/// These are made in this order, because the client has threads.
///
/// Thread-safety: one thread. REQUIRES: constructed while the process has one thread.
class RunSession {
 public:
  /// `is_repeated`: run() may be called again. Throws: Failure, Error.
  RunSession(const RunOptions& options, bool is_repeated);
  RunSession(const RunSession&) = delete;
  RunSession& operator=(const RunSession&) = delete;
  ~RunSession() = default;

  Client& client() noexcept { return client_; }
  /// Makes one Run, and returns its facts at its end. Writes the report, if one is wanted. A
  /// repeated run that was not granted does not overwrite the report of an earlier one.
  const RunFacts& run(LockFunction acquire, std::function<void(RunState)> on_state = {});
  /// Returns whether the guardian has ended. Then no further command can be started.
  bool has_guardian_ended() const noexcept { return guardian_.has_ended(); }
  /// Blocks for that time, or until the guardian ends. A signal that ends the session is returned
  /// at once.
  std::optional<int> pause(Duration time);
  /// Ends the guardian, and then the command: see end_with().
  int end(int exit_code);

 private:
  /// Services take HUP as an order to read their settings again. If there is a terminal, HUP means
  /// that it was closed.
  bool ignores_hangup() const noexcept { return is_repeated_ && !terminal_.exists(); }

  const RunOptions& options_;
  const bool is_repeated_;
  bool has_report_ = false;
  const std::unique_ptr<ReportFile> report_;  ///< null: none is wanted
  SignalReader signals_;
  const ControllingTerminal terminal_;
  Guardian guardian_;
  Client client_;
  Waiter waiter_;
  std::unique_ptr<Run> run_;
};

}  // namespace zklock::cli
