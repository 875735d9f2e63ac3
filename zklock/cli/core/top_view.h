// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <memory>
#include <string>
#include <vector>

#include "zklock/cli/core/lock_query.h"
#include "zklock/cli/core/lock_selection.h"
#include "zklock/cli/core/snapshot.h"

namespace zklock::cli {

/// A key of the terminal: its character, or a number above all characters.
using Key = int;
inline constexpr Key kEnter = '\r';
inline constexpr Key kEscape = '\x1b';
inline constexpr Key kBackspace = '\x7f';
inline constexpr Key kUp = 0x100;
inline constexpr Key kDown = 0x101;
inline constexpr Key kPageUp = 0x102;
inline constexpr Key kPageDown = 0x103;

/// The screen of `top`: what it shows, and what a key does.
///
/// | state  | key                         | next   | effect                                  |
/// |--------|-----------------------------|--------|-----------------------------------------|
/// | list   | up, down, k, j, page keys   | list   | selects a row                           |
/// |        | h, w, p                     | list   | sorts by hold, by waiting, by path      |
/// |        | /                           | filter |                                         |
/// |        | escape                      | list   | removes the filter                      |
/// |        | enter                       | lock   |                                         |
/// |        | space                       | list   | begins a pass now                       |
/// |        | q                           | list   | ends the command                        |
/// | filter | a character, backspace      | filter | changes the filter                      |
/// |        | enter                       | list   |                                         |
/// |        | escape                      | list   | removes the filter                      |
/// | lock   | up, down, k, j, page keys   | lock   | scrolls                                 |
/// |        | escape, enter               | list   |                                         |
/// |        | space, q                    | lock   | as in list                              |
///
/// The filter is the search of find_locks(). The selection is a path, so it stays on its lock when
/// the rows move. Thread-safety: none; pure.
class TopView {
 public:
  enum class Effect { none, pass, end };

  TopView(std::string root, RowOrder order);

  void on_snapshot(std::shared_ptr<const Snapshot> snapshot);
  /// The text of the last line: why a pass failed, or that there is no connection.
  void on_problem(std::string text);
  Effect on_key(Key key, WallTime now);
  /// Returns at most `height` lines of at most `width` columns. A line that begins with '>' is the
  /// selected one.
  std::vector<std::string> lines(std::size_t width, std::size_t height, WallTime now);

 private:
  enum class State { list, filter, lock };

  LockRows rows(WallTime now) const;
  void move(int step, WallTime now);
  void on_filter_key(Key key);
  std::string title(std::size_t count, WallTime now) const;
  std::vector<std::string> list_lines(std::size_t width, WallTime now);
  std::vector<std::string> lock_lines(std::size_t width, WallTime now);

  const std::string root_;
  RowOrder order_;
  State state_ = State::list;
  std::string filter_;
  std::string problem_;
  std::shared_ptr<const Snapshot> snapshot_;
  std::string selected_;        ///< path
  std::size_t page_ = 10;       ///< rows that the screen has
  std::size_t first_row_ = 0;   ///< of the list
  std::size_t first_line_ = 0;  ///< of the lock
};

}  // namespace zklock::cli
