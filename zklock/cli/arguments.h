// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <span>
#include <string>

namespace zklock::cli {

/// Parses the arguments, without the name of zklock, and runs the command. Returns the exit code.
/// Throws: Failure, Error.
[[nodiscard]] int run_arguments(std::span<const std::string> arguments);

}  // namespace zklock::cli
