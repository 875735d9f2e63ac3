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

/// Returns the text, cut to `width` columns with "..." in the middle or at the end. A path is cut in
/// the middle, because its end is its name.
enum class Cut { middle, end };
std::string cut_text(std::string_view text, std::size_t width, Cut cut);

/// A table for a terminal. Its cells can have any content: add() makes it harmless.
class Table {
 public:
  using Row = std::vector<std::string>;

  /// `shrinkable`: the columns that may be cut.
  Table(Row titles, std::vector<std::size_t> shrinkable) : shrinkable_(std::move(shrinkable)) {
    add(std::move(titles));
  }
  void add(Row cells);
  /// Returns the lines without line ends, the titles first. All columns are as wide as their longest
  /// cell. If a line is wider than `width`, the widest shrinkable columns are cut, down to 8 each. So
  /// a line can still be wider. 0: no limit.
  std::vector<std::string> lines(std::size_t width) const;

 private:
  std::vector<std::size_t> widths(std::size_t limit) const;

  const std::vector<std::size_t> shrinkable_;
  std::vector<Row> rows_;
};

}  // namespace zklock::cli
