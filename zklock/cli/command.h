// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "zklock/cli/settings.h"

namespace CLI {  // NOLINT(readability-identifier-naming)
class App;
}

namespace zklock::cli {

/// The input of a command, apart from its own options.
struct Invocation {
  Settings settings;
  std::vector<std::string> program;  ///< program and arguments; see Command::starts_program
};

/// Runs a command after its options were parsed. Returns the exit code. Throws: Failure, Error.
using Action = std::function<int(const Invocation&)>;

/// One command of zklock.
struct Command {
  const char* name;
  const char* summary;
  /// Whether all arguments behind the first operand are those of a program to start.
  bool starts_program;
  /// Declares the options of the command. The returned function uses their values.
  Action (*declare)(CLI::App& options);
};

}  // namespace zklock::cli
