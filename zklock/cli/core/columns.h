// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace zklock::cli {

/// Returns the number of columns that a text takes on a terminal. Wide East Asian characters take
/// two, combining marks none. REQUIRES: display_text() made the text.
std::size_t display_width(std::string_view text) noexcept;

/// Returns the text, cut to `width` columns with "..." at its begin or its end. A path is cut at
/// its begin, because its end is its name.
enum class Cut { begin, end };
std::string cut_text(std::string_view text, std::size_t width, Cut cut);

/// The colour of a row on a terminal.
enum class Tint { plain, held, warning, alarm };

/// A table for a terminal. Its cells can have any content: add() makes it harmless.
class Table {
 public:
  using Row = std::vector<std::string>;

  /// `shrinkable`: the columns that may be cut. `droppable`: those that may be left out, in this
  /// order.
  Table(Row titles, std::vector<std::size_t> shrinkable, std::vector<std::size_t> droppable = {})
      : shrinkable_(std::move(shrinkable)), droppable_(std::move(droppable)) {
    add(std::move(titles));
  }
  void add(Row cells, Tint tint = Tint::plain);
  /// Returns the lines without line ends, the titles first. All columns are as wide as their
  /// longest cell. If a line is wider than `width`, the widest shrinkable columns but the first are
  /// cut, down to 16 each. If that does not suffice, one droppable column after the other is left
  /// out. At last all shrinkable columns are cut, down to 8 each. So a line can still be wider. 0:
  /// no limit.
  std::vector<std::string> lines(std::size_t width) const;
  /// Returns the colour of a line; 0 is that of the titles.
  Tint tint(std::size_t line) const { return tints_.at(line); }

 private:
  std::vector<std::size_t> widths(std::size_t limit) const;

  const std::vector<std::size_t> shrinkable_;
  const std::vector<std::size_t> droppable_;
  std::vector<Row> rows_;
  std::vector<Tint> tints_;
};

}  // namespace zklock::cli
