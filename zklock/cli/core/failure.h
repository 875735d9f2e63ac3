// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cerrno>
#include <stdexcept>
#include <string>
#include <system_error>

#include "zklock/error.h"

namespace zklock::cli {

/// The exit codes of zklock, after those of sysexits.h and of shells.
struct ExitCode {
  static constexpr int kUsage = 64;          ///< wrong arguments
  static constexpr int kData = 65;           ///< bad path, data or settings
  static constexpr int kUnavailable = 69;    ///< no server, or no quorum
  static constexpr int kInternal = 70;       ///< a bug, or the guardian cannot work
  static constexpr int kSystem = 71;         ///< no process, thread or descriptor is left
  static constexpr int kOutput = 74;         ///< the standard output cannot be written
  static constexpr int kNotAcquired = 75;    ///< not acquired in time
  static constexpr int kNoPermission = 77;   ///< the servers refused the operation
  static constexpr int kConfiguration = 78;  ///< configuration or secret file
  static constexpr int kLost = 79;           ///< the lock was lost
  static constexpr int kNotExecutable = 126;
  static constexpr int kNotFound = 127;
  static constexpr int kSignal = 128;  ///< plus the signal's number
};

/// Returns the exit code for an error of the library.
[[nodiscard]] int exit_code_of(Errc code) noexcept;

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

/// Returns the failure of a system call, by errno.
inline Failure system_failure(const std::string& operation, int error = errno) {
  return {ExitCode::kSystem, operation + ": " + std::generic_category().message(error)};
}

}  // namespace zklock::cli
