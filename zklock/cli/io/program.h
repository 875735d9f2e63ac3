// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace zklock::cli {

/// Returns the path of the program that a shell would start for `name`: searched in PATH, unless
/// the name contains a slash.
/// Throws: Failure with ExitCode::kNotFound or kNotExecutable.
[[nodiscard]] std::string find_program(const std::string& name);

/// Returns the environment of this process with some variables replaced: "NAME=value".
[[nodiscard]] std::vector<std::string> environment_with(std::vector<std::string> variables);

}  // namespace zklock::cli
