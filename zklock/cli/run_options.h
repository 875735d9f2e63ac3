// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <optional>
#include <string>
#include <vector>

#include <signal.h>

#include "zklock/cli/command.h"
#include "zklock/cli/core/duration.h"
#include "zklock/cli/core/failure.h"
#include "zklock/cli/held_lock.h"
#include "zklock/cli/io/standard_streams.h"
#include "zklock/cli/settings.h"
#include "zklock/deadline.h"

namespace zklock::cli {

/// The options of `zklock run`. Those of `zklock elect` and `zklock hold`, too.
struct RunOptions {
  std::string path = {};
  LockChoice lock = {};
  std::optional<std::string> note = {};  ///< as given, and may be empty
  bool exclusive = false;
  bool nonblock = false;
  std::optional<Duration> wait = {};
  std::optional<Duration> grace = {};
  int term_signal = SIGTERM;
  int code_if_not_acquired = ExitCode::kNotAcquired;
  std::string report = {};
  std::string shell_command = {};
  Duration default_session_timeout = std::chrono::seconds(30);
  // Set by the functions below.
  Settings settings = {};
  std::string place = {};                 ///< of the Invocation
  std::string kind = {};                  ///< of the lock, for the report
  std::vector<std::string> command = {};  ///< arguments of the program, with its name
  std::string program = {};               ///< its path
  std::string held = {};                  ///< new value of ZKLOCK_HELD
};

/// Returns the deadline of an acquire that began at `begin`.
[[nodiscard]] Deadline acquire_deadline(const RunOptions& options, Instant begin);

/// Writes a line about the command to the standard error output. Any thread may call it.
inline void say(const RunOptions& options, const std::string& text) {
  say(options.place, text);
}

/// Declares the options that choose a lock, and say how long to wait for it.
void declare_lock_options(CLI::App& options, RunOptions& to);
/// Declares the options of a program that runs under a lock, and its operands. `report`: the text
/// of that option.
void declare_program(CLI::App& options, RunOptions& to, const char* report);
/// Declares the option --note. Its value may be empty.
void declare_note(CLI::App& options, RunOptions& to);

/// Checks the options of the lock, and refuses a path that is in ZKLOCK_HELD. Throws: Failure.
void check_lock_options(RunOptions& options, const Invocation& invocation);
/// Checks all options. Finds the program, and refuses a run within a run of one path.
/// Throws: Failure.
void check_options(RunOptions& options, const Invocation& invocation);

/// How long a client may take to connect.
inline constexpr std::chrono::seconds kConnectionTimeout{15};
/// Returns the options of a client that holds a lock for these options. Throws: as
/// client_options().
[[nodiscard]] ClientOptions run_client_options(const RunOptions& options);

/// Sets the permits of a lock by "2/5" or "2/shared". Throws: Failure with ExitCode::kUsage.
void read_permits(const std::string& text, LockChoice& lock);

/// Returns the path of the program that a shell would start for `name`: searched in PATH, unless
/// the name contains a slash. Throws: Failure with ExitCode::kNotFound or kNotExecutable.
[[nodiscard]] std::string find_program(const std::string& name);

/// Returns the number of a signal: "TERM", "SIGTERM" or "15". Throws: Failure with
/// ExitCode::kUsage.
[[nodiscard]] int parse_signal(const std::string& text);

}  // namespace zklock::cli
