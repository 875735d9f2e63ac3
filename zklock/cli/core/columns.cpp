// SPDX-License-Identifier: Apache-2.0
#include "zklock/cli/core/columns.h"

#include <algorithm>
#include <array>
#include <utility>

#include "zklock/cli/core/display_text.h"

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
  const std::size_t at_end = cut == Cut::middle ? (shown + 1) / 2 : 0;
  return std::string(first_columns(text, shown - at_end)) + std::string(kMark) +
         std::string(at_end == 0 ? std::string_view() : last_columns(text, at_end));
}

void Table::add(Row cells) {
  for (std::string& cell : cells) cell = display_text(cell);
  if (!rows_.empty()) cells.resize(rows_.front().size());
  rows_.push_back(std::move(cells));
}

std::vector<std::size_t> Table::widths(std::size_t limit) const {
  constexpr std::size_t kGap = 2;
  constexpr std::size_t kLeast = 8;  // of a column that is cut
  std::vector<std::size_t> columns(rows_.front().size());
  for (const Row& row : rows_) {
    for (std::size_t i = 0; i < row.size(); ++i) {
      columns[i] = std::max(columns[i], display_width(row[i]));
    }
  }
  std::size_t sum = kGap * (columns.size() - 1);
  for (const std::size_t width : columns) sum += width;
  for (; limit != 0 && sum > limit && !shrinkable_.empty(); --sum) {
    const auto width_of_column = [&columns](std::size_t column) { return columns[column]; };
    const std::size_t widest = *std::ranges::max_element(shrinkable_, {}, width_of_column);
    if (columns[widest] <= kLeast) break;
    --columns[widest];
  }
  return columns;
}

std::vector<std::string> Table::lines(std::size_t width) const {
  const auto column_widths = widths(width);
  std::vector<std::string> lines;
  for (const Row& row : rows_) {
    std::string line;
    for (std::size_t i = 0; i < row.size(); ++i) {
      const std::string cell = cut_text(row[i], column_widths[i], i == 0 ? Cut::middle : Cut::end);
      line += cell;
      if (i + 1 < row.size()) line.append(column_widths[i] - display_width(cell) + 2, ' ');
    }
    line.erase(line.find_last_not_of(' ') + 1);
    lines.push_back(std::move(line));
  }
  return lines;
}

}  // namespace zklock::cli
