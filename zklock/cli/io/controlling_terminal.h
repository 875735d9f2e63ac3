// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>

#include <termios.h>

namespace zklock::cli {

/// The terminal of this session, and its modes at the construction.
///
/// Thread-safety: none.
class ControllingTerminal {
 public:
  ControllingTerminal() noexcept;
  /// Returns whether the session has a terminal.
  bool exists() const noexcept { return exists_; }
  /// Restores the modes, and puts the group of this process into the foreground. A killed program
  /// cannot do that itself. Does nothing if the group was not in the foreground at the
  /// construction, or if another job is there now. REQUIRES: SIGTTOU is blocked.
  void restore() const noexcept;

 private:
  bool exists_ = false;
  std::optional<termios> modes_;  ///< if this process was in the foreground
};

}  // namespace zklock::cli
