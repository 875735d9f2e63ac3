// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>
#include <span>
#include <string>
#include <vector>

#include "zklock/cli/settings.h"

namespace CLI {  // NOLINT(readability-identifier-naming)
class App;
class Option;
}  // namespace CLI

namespace zklock::cli {

/// The input of a command, apart from its own options.
struct Invocation {
  Settings settings;
  std::string place;                 ///< for texts: the command and its path
  std::vector<std::string> program;  ///< program and arguments; of `run` and `elect`
};

/// A command whose options were declared.
struct Action {
  const std::string* path;  ///< its first operand, a part of `run`
  /// Runs the command after its options were parsed. Returns the exit code. Throws: Failure, Error.
  std::function<int(const Invocation&)> run;
};

// Each declares the options of a command. The returned action uses their values. A new command
// needs a row in arguments.cpp, and its source in CMakeLists.txt.
Action declare_run(CLI::App& options);
Action declare_elect(CLI::App& options);
Action declare_hold(CLI::App& options);
Action declare_list(CLI::App& options);
Action declare_watch(CLI::App& options);
Action declare_top(CLI::App& options);
Action declare_permits(CLI::App& options);
Action declare_release(CLI::App& options);
Action declare_check(CLI::App& options);
Action declare_doctor(CLI::App& options);
Action declare_serve(CLI::App& options);

/// Parses the arguments, without the name of zklock, and runs the command. Returns the exit code.
/// Throws: Failure, Error.
[[nodiscard]] int run_arguments(std::span<const std::string> arguments);

}  // namespace zklock::cli
