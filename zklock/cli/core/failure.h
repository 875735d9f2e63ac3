// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <stdexcept>
#include <string>

#include "zklock/cli/core/exit_code.h"

namespace zklock::cli {

/// Ends the command: one line on the standard error output, and an exit code.
class Failure : public std::runtime_error {
 public:
  Failure(int exit_code, const std::string& text)
      : std::runtime_error(text), exit_code_(exit_code) {}
  int exit_code() const noexcept { return exit_code_; }

 private:
  int exit_code_;
};

/// Ends a command that was called wrongly.
[[noreturn]] inline void refuse(const std::string& text) {
  throw Failure(ExitCode::kUsage, text);
}

}  // namespace zklock::cli
