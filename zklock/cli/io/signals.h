// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>

#include <signal.h>

#include "zklock/cli/io/unique_fd.h"

namespace zklock::cli {

/// A signal that this process received.
struct ReceivedSignal {
  int number = 0;
  bool from_terminal = false;  ///< by the kernel: Ctrl-C, Ctrl-\, a resize
};

/// Blocks the signals that zklock forwards, and reads them from a descriptor. It changes no
/// disposition. A signal that was ignored at the start stays ignored, so nohup works. SIGPIPE is
/// blocked and not read.
///
/// Thread-safety: none. REQUIRES: constructed before the process has a second thread.
class SignalReader {
 public:
  /// Throws: Failure.
  SignalReader();

  int fd() const noexcept { return fd_.get(); }
  /// Returns the next signal; std::nullopt if there is none.
  std::optional<ReceivedSignal> next() noexcept;
  /// Returns the mask before the construction: that of the command.
  const sigset_t& old_mask() const noexcept { return old_mask_; }
  /// Returns whether SIGCHLD was ignored before the construction.
  bool ignored_children() const noexcept { return ignored_children_; }

 private:
  sigset_t old_mask_{};
  bool ignored_children_ = false;
  UniqueFd fd_;
};

}  // namespace zklock::cli
