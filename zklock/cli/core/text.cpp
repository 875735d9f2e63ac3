// SPDX-License-Identifier: Apache-2.0
#include "zklock/cli/core/text.h"

#include <algorithm>
#include <array>
#include <numeric>
#include <vector>

namespace zklock::cli {

namespace {

struct Range {
  char32_t first;
  char32_t last;
};

// Controls, marks of direction, characters without width, surrogates and private use.
constexpr std::array kHidden{
    Range{0x00, 0x1F},     Range{0x7F, 0x9F},     Range{0xAD, 0xAD},     Range{0x61C, 0x61C},
    Range{0x180E, 0x180E}, Range{0x200B, 0x200F}, Range{0x2028, 0x202E}, Range{0x2060, 0x206F},
    Range{0xD800, 0xF8FF}, Range{0xFEFF, 0xFEFF}, Range{0xFFF0, 0xFFFF}, Range{0xE0000, 0x10FFFF}};

bool is_hidden(char32_t code) {
  return std::ranges::any_of(
      kHidden, [code](const Range& range) { return code >= range.first && code <= range.last; });
}

/// Returns the length of the UTF-8 character that begins `text`, and its code. The length is 0 if
/// the text begins with no valid character.
std::size_t decode(std::string_view text, char32_t& code) {
  const auto lead = static_cast<unsigned char>(text.front());
  std::size_t length = 1;
  code = lead;
  if (lead >= 0x80) {
    if (lead < 0xC2 || lead > 0xF4) return 0;
    length = lead < 0xE0 ? 2 : lead < 0xF0 ? 3 : 4;
    code = lead & (0xFFU >> (length + 1));
  }
  if (text.size() < length) return 0;
  for (std::size_t i = 1; i < length; ++i) {
    const auto next = static_cast<unsigned char>(text[i]);
    if ((next & 0xC0U) != 0x80) return 0;
    code = code << 6U | (next & 0x3FU);
  }
  const bool is_overlong = (length == 3 && code < 0x800) || (length == 4 && code < 0x10000);
  return is_overlong || code > 0x10FFFF ? 0 : length;
}

/// Returns the Levenshtein distance.
std::size_t distance(std::string_view a, std::string_view b) {
  std::vector<std::size_t> row(b.size() + 1);
  std::iota(row.begin(), row.end(), std::size_t{0});
  for (std::size_t i = 0; i < a.size(); ++i) {
    std::size_t diagonal = row[0]++;
    for (std::size_t j = 0; j < b.size(); ++j) {
      const std::size_t replaced = diagonal + (a[i] == b[j] ? 0 : 1);
      diagonal = row[j + 1];
      row[j + 1] = std::min({replaced, row[j] + 1, row[j + 1] + 1});
    }
  }
  return row.back();
}

}  // namespace

std::string display_text(std::string_view text) {
  std::string shown;
  shown.reserve(text.size());
  while (!text.empty()) {
    char32_t code = 0;
    const std::size_t length = decode(text, code);
    if (length == 0 || is_hidden(code)) {
      shown += '?';
    } else {
      shown += text.substr(0, length);
    }
    text.remove_prefix(std::max<std::size_t>(length, 1));
  }
  return shown;
}

std::string_view closest_name(std::string_view written, std::span<const std::string_view> names) {
  constexpr std::size_t kMost = 2;
  constexpr std::size_t kLongestName = 32;  // a longer text is no misspelling
  if (written.size() > kLongestName) return {};
  std::string_view closest;
  std::size_t least = std::min(kMost + 1, written.size());
  for (const std::string_view name : names) {
    if (const std::size_t found = distance(written, name); found < least) {
      least = found;
      closest = name;
    }
  }
  return closest;
}

}  // namespace zklock::cli
