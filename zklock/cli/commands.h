// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <span>

#include "zklock/cli/command.h"

namespace zklock::cli {

/// Returns all commands. A new command needs one row in commands.cpp, and its sources in
/// CMakeLists.txt.
[[nodiscard]] std::span<const Command> commands();

}  // namespace zklock::cli
