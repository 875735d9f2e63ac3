// SPDX-License-Identifier: Apache-2.0
#include "zklock/cli/core/columns.h"

#include <algorithm>
#include <array>
#include <limits>
#include <span>
#include <utility>

#include "zklock/cli/core/text.h"

namespace zklock::cli {

namespace {

struct Range {
  char32_t first;
  char32_t last;
};

constexpr std::array kCombining{Range{0x300, 0x36F},   Range{0x483, 0x489},   Range{0x591, 0x5BD},
                                Range{0x610, 0x61A},   Range{0x64B, 0x65F},   Range{0x900, 0x902},
                                Range{0xE31, 0xE31},   Range{0xE34, 0xE3A},   Range{0x1AB0, 0x1AFF},
                                Range{0x1DC0, 0x1DFF}, Range{0x20D0, 0x20FF}, Range{0xFE00, 0xFE0F},
                                Range{0xFE20, 0xFE2F}};
constexpr std::array kWide{Range{0x1100, 0x115F},  Range{0x2705, 0x2705},   Range{0x2E80, 0x303E},
                           Range{0x3041, 0x33FF},  Range{0x1F680, 0x1F6FF}, Range{0x3400, 0x4DBF},
                           Range{0x4E00, 0x9FFF},  Range{0xA000, 0xA4CF},   Range{0xAC00, 0xD7A3},
                           Range{0xF900, 0xFAFF},  Range{0xFE30, 0xFE6F},   Range{0xFF00, 0xFF60},
                           Range{0xFFE0, 0xFFE6},  Range{0x1F300, 0x1F64F}, Range{0x1F900, 0x1F9FF},
                           Range{0x20000, 0x3FFFD}};

template <std::size_t N>
bool is_in(const std::array<Range, N>& ranges, char32_t code) noexcept {
  return std::ranges::any_of(
      ranges, [code](const Range& each) { return code >= each.first && code <= each.last; });
}

/// Removes the first character of valid UTF-8. Returns its code.
char32_t take_character(std::string_view& text) noexcept {
  const auto lead = static_cast<unsigned char>(text.front());
  const std::size_t length = lead < 0x80 ? 1 : lead < 0xE0 ? 2 : lead < 0xF0 ? 3 : 4;
  char32_t code = length == 1 ? lead : lead & (0xFFU >> (length + 1));
  for (std::size_t i = 1; i < length && i < text.size(); ++i) {
    code = code << 6U | (static_cast<unsigned char>(text[i]) & 0x3FU);
  }
  text.remove_prefix(std::min(length, text.size()));
  return code;
}

std::size_t width_of(char32_t code) noexcept {
  if (is_in(kCombining, code)) return 0;
  return is_in(kWide, code) ? 2 : 1;
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
