// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "zklock/cli/core/top_view.h"

namespace zklock::cli {

/// The terminal of the standard input and output: single keys, an alternate screen, no cursor. The
/// destructor restores it, and so does the end of the process by exit().
///
/// Thread-safety: none. REQUIRES: there is only one.
class Terminal {
 public:
  struct Size {
    std::size_t columns = 80;
    std::size_t lines = 24;
  };

  /// Throws: Failure if the standard input or output is no terminal.
  Terminal();
  Terminal(const Terminal&) = delete;
  Terminal& operator=(const Terminal&) = delete;
  ~Terminal();

  static bool is_there() noexcept;
  /// Restores the terminal, and stops the process as SIGTSTP does. Returns when the process
  /// continues in the foreground. REQUIRES: a SignalReader reads SIGTSTP.
  void suspend() noexcept;
  Size size() const noexcept;
  /// Shows the lines from the top. REQUIRES: display_text() made them, and they fit.
  void show(const std::vector<std::string>& lines);
  /// Reads what was typed. Returns no keys if nothing was. Returns std::nullopt at the end of the
  /// input.
  std::optional<std::vector<Key>> read_keys();
};

/// Returns the keys in the bytes. Unknown sequences are no keys.
std::vector<Key> keys_of(std::string_view bytes);
/// Returns whether the bytes end with the begin of a sequence. An Escape is one, too.
bool ends_in_sequence(std::string_view bytes);

}  // namespace zklock::cli
