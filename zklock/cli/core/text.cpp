// SPDX-License-Identifier: Apache-2.0
#include "zklock/cli/core/text.h"

#include <algorithm>
#include <array>
#include <numeric>
#include <vector>

#include <boost/locale/utf.hpp>

namespace zklock::cli {

namespace {

struct Range {
  char32_t first;
  char32_t last;
};

// Controls, marks of direction, characters without width, private use, and what is no character.
constexpr std::array kHidden{
    Range{0x00, 0x1F},     Range{0x7F, 0x9F},     Range{0xAD, 0xAD},
    Range{0x61C, 0x61C},   Range{0x180E, 0x180E}, Range{0x200B, 0x200F},
    Range{0x2028, 0x202E}, Range{0x2060, 0x206F}, Range{0xE000, 0xF8FF},
    Range{0xFEFF, 0xFEFF}, Range{0xFFF0, 0xFFFF}, Range{0xE0000, kNoCharacter}};

bool is_hidden(char32_t code) {
  return std::ranges::any_of(
      kHidden, [code](const Range& range) { return code >= range.first && code <= range.last; });
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

char32_t take_character(std::string_view& text) noexcept {
  using Utf8 = boost::locale::utf::utf_traits<char>;
  const char* at = text.data();
  char32_t code = Utf8::decode(at, text.data() + text.size());
  if (!boost::locale::utf::is_valid_codepoint(code)) {
    code = kNoCharacter;
    at = text.data() + 1;
  }
  text.remove_prefix(static_cast<std::size_t>(at - text.data()));
  return code;
}

std::string display_text(std::string_view text) {
  std::string shown;
  shown.reserve(text.size());
  while (!text.empty()) {
    std::string_view rest = text;
    if (is_hidden(take_character(rest))) {
      shown += '?';
    } else {
      shown += text.substr(0, text.size() - rest.size());
    }
    text = rest;
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
