// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

#include "zklock/cli/command.h"
#include "zklock/cli/run_options.h"

namespace zklock::cli {

/// Declares an option whose value must not be empty.
void declare_value(CLI::App& options, const char* names, std::string& target, const char* type,
                   const char* text);
/// Declares the operands after the path, for the help. The parser never sees them.
void declare_program(CLI::App& options);
/// Declares the option --note. Its value may be empty.
void declare_note(CLI::App& options, RunArguments& to);

/// Declares the options that choose a lock, and say how long to wait for it.
void declare_lock_options(CLI::App& options, RunArguments& to);

}  // namespace zklock::cli
