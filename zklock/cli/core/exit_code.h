// SPDX-License-Identifier: Apache-2.0
#pragma once

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

}  // namespace zklock::cli
