// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

namespace zklock::cli {

/// Returns the path of the program that a shell would start for `name`: searched in PATH, unless
/// the name contains a slash.
/// Throws: Failure with ExitCode::kNotFound or kNotExecutable.
[[nodiscard]] std::string find_program(const std::string& name);

}  // namespace zklock::cli
