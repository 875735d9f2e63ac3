// SPDX-License-Identifier: Apache-2.0
#include "zklock/cli/core/columns.h"

#include <algorithm>
#include <limits>
#include <span>

#include <locale.h>
#include <wchar.h>

#include "zklock/cli/core/text.h"

namespace zklock::cli {

namespace {

/// Returns the columns of a character, by the tables of the C library for UTF-8. They depend on the
/// locale of the thread.
std::size_t width_of(char32_t code) noexcept {
  static const locale_t kUtf8 = ::newlocale(LC_CTYPE_MASK, "C.UTF-8", nullptr);
  const locale_t before = ::uselocale(kUtf8);
  const int width = ::wcwidth(static_cast<wchar_t>(code));
  ::uselocale(before);
  return width < 0 ? 1 : static_cast<std::size_t>(width);
}

/// Returns the longest begin of the text that fits into `width` columns.
std::string_view first_columns(std::string_view text, std::size_t width) noexcept {
  std::string_view rest = text;
  std::size_t used = 0;
  while (!rest.empty()) {
    std::string_view next = rest;
    used += width_of(take_character(next));
    if (used > width) break;
    rest = next;
  }
  return text.substr(0, text.size() - rest.size());
}

/// Returns the longest end of the text that fits into `width` columns.
std::string_view last_columns(std::string_view text, std::size_t width) noexcept {
  for (std::size_t rest = display_width(text); rest > width;)
    rest -= width_of(take_character(text));
  return text;
}

constexpr std::size_t kGap = 2;
constexpr std::size_t kDropped = std::numeric_limits<std::size_t>::max();  ///< width: not shown

std::size_t width_of_line(std::span<const std::size_t> columns) {
  std::size_t sum = 0;
  for (const std::size_t width : columns) sum += width == kDropped ? 0 : width + kGap;
  return sum - std::min(sum, kGap);
}

/// Returns the widths after the widest of the columns `which` were cut until a line fits.
std::vector<std::size_t> shrunk(std::vector<std::size_t> columns, std::vector<std::size_t> which,
                                std::size_t least, std::size_t limit) {
  std::erase_if(which, [&columns](std::size_t column) { return columns[column] == kDropped; });
  for (const std::size_t column : which) {  // only for speed
    columns[column] = std::min(columns[column], std::max(limit, least));
  }
  const auto width_of_column = [&columns](std::size_t column) { return columns[column]; };
  for (std::size_t sum = width_of_line(columns); sum > limit && !which.empty(); --sum) {
    const std::size_t widest = *std::ranges::max_element(which, {}, width_of_column);
    if (columns[widest] <= least) break;
    --columns[widest];
  }
  return columns;
}

}  // namespace

std::size_t display_width(std::string_view text) noexcept {
  std::size_t width = 0;
  while (!text.empty()) width += width_of(take_character(text));
  return width;
}

std::string cut_text(std::string_view text, std::size_t width, Cut cut) {
  constexpr std::string_view kMark = "...";
  if (display_width(text) <= width) return std::string(text);
  if (width <= kMark.size()) return std::string(first_columns(text, width));
  const std::size_t shown = width - kMark.size();
  if (cut == Cut::begin) return std::string(kMark) + std::string(last_columns(text, shown));
  return std::string(first_columns(text, shown)) + std::string(kMark);
}

void Table::add(Row cells, Tint tint) {
  for (std::string& cell : cells) cell = display_text(cell);
  if (!rows_.empty()) cells.resize(rows_.front().size());
  rows_.push_back(std::move(cells));
  tints_.push_back(tint);
}

std::vector<std::size_t> Table::widths(std::size_t limit) const {
  constexpr std::size_t kUseful = 16;  // of a cut column, as long as another one can be left out
  constexpr std::size_t kLeast = 8;
  std::vector<std::size_t> columns(rows_.front().size());
  for (const Row& row : rows_) {
    for (std::size_t i = 0; i < row.size(); ++i) {
      columns[i] = std::max(columns[i], display_width(row[i]));
    }
  }
  if (limit == 0 || width_of_line(columns) <= limit) return columns;
  std::vector<std::size_t> later = shrinkable_;
  std::erase(later, std::size_t{0});
  std::vector<std::size_t> cut = shrunk(columns, later, kUseful, limit);
  for (const std::size_t dropped : droppable_) {
    if (width_of_line(cut) <= limit) return cut;
    columns[dropped] = kDropped;
    cut = shrunk(columns, later, kUseful, limit);
  }
  return width_of_line(cut) <= limit ? cut : shrunk(columns, shrinkable_, kLeast, limit);
}

std::vector<std::string> Table::lines(std::size_t width) const {
  const auto column_widths = widths(width);
  std::vector<std::string> lines;
  for (const Row& row : rows_) {
    std::string line;
    for (std::size_t i = 0; i < row.size(); ++i) {
      if (column_widths[i] == kDropped) continue;
      const std::string cell = cut_text(row[i], column_widths[i], i == 0 ? Cut::begin : Cut::end);
      line += cell;
      line.append(column_widths[i] - display_width(cell) + kGap, ' ');
    }
    line.erase(line.find_last_not_of(' ') + 1);
    lines.push_back(std::move(line));
  }
  return lines;
}

}  // namespace zklock::cli
