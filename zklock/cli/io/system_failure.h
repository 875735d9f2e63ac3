// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cerrno>
#include <string>
#include <system_error>

#include "zklock/cli/core/failure.h"

namespace zklock::cli {

/// Returns the failure of a system call, by errno.
inline Failure system_failure(const std::string& operation, int error = errno) {
  return {ExitCode::kSystem, operation + ": " + std::generic_category().message(error)};
}

}  // namespace zklock::cli
