// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <optional>
#include <string>
#include <vector>

#include <sys/types.h>

#include "zklock/cli/core/duration.h"
#include "zklock/cli/held_lock.h"
#include "zklock/cli/settings.h"

namespace CLI {  // NOLINT(readability-identifier-naming)
class App;
}

namespace zklock::cli {

/// The options of `zklock run`, as the user wrote them. An empty text is unset.
struct RunArguments {
  bool nonblock = false;
  bool exclusive = false;
  bool shared = false;
  std::string wait = {};
  std::string permits = {};
  std::string weight = {};
  std::string max_hold = {};
  std::string lock_delay = {};
  std::string grace = {};
  std::string term = "TERM";
  std::string code = {};
  std::string note = {};
  bool has_note = false;  ///< `note` is set, and may be empty
  std::string report = {};
  std::string shell_command = {};
  std::string path = {};
};

/// Declares an option whose value must not be empty.
void declare_value(CLI::App& options, const char* names, std::string& target, const char* type,
                   const char* text);
/// Declares the operands after the path, for the help. The parser never sees them.
void declare_program(CLI::App& options);
/// Declares the option --note. Its value may be empty.
void declare_note(CLI::App& options, RunArguments& to);

/// Declares the options that choose a lock, and say how long to wait for it.
void declare_lock_options(CLI::App& options, RunArguments& to);

/// The checked options of `zklock run`. Those of `zklock elect` and `zklock hold`, too.
struct RunOptions {
  std::string name = "run";  ///< of the command of zklock
  std::string path;
  LockChoice lock;
  std::string kind;                  ///< of the lock, for the report
  std::vector<std::string> command;  ///< arguments of the program, with its name
  std::string program;               ///< its path
  bool nonblock = false;
  std::optional<Duration> wait;
  std::optional<Duration> grace;
  int term_signal = 0;
  int code_if_not_acquired = 0;
  std::string report;
  Settings settings;
  Duration default_session_timeout = std::chrono::seconds(30);
  std::string held;  ///< new value of ZKLOCK_HELD
};

/// Checks the options of the lock, and refuses a path that is in ZKLOCK_HELD. Throws: Failure.
[[nodiscard]] RunOptions check_lock_options(const RunArguments& arguments,
                                            const Settings& settings);

/// Checks all options. Finds the program, and refuses a run within a run of one path.
/// Throws: Failure.
[[nodiscard]] RunOptions check_options(const RunArguments& arguments, const Settings& settings,
                                       const std::vector<std::string>& program);

/// Returns the value of ZKLOCK_HELD for a command below a lock. `held`: the present value, which
/// has one line for each lock that an ancestor of this process holds.
/// Throws: Failure with ExitCode::kData if the lock is among them.
[[nodiscard]] std::string held_with(const std::string& held, const std::string& hosts,
                                    const std::string& path);

/// Returns the number in the value of an option. Throws: Failure with ExitCode::kUsage.
[[nodiscard]] int option_number(const char* option, const std::string& text, int least, int most);

/// Returns the number of a signal: "TERM", "SIGTERM" or "15". Throws: Failure with
/// ExitCode::kUsage.
[[nodiscard]] int parse_signal(const std::string& text);

}  // namespace zklock::cli
