// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <string_view>

namespace zklock::core {

/// The first character of a text. Invalid UTF-8 is split into single bytes.
struct Utf8Character {
  char32_t code = 0;       ///< meaningful if valid
  std::size_t length = 1;  ///< in bytes
  bool valid = false;
};

/// Returns the first character. Pure. Overlong forms, surrogates and values above U+10FFFF are
/// invalid. REQUIRES: `text` is not empty.
constexpr Utf8Character first_character(std::string_view text) noexcept {
  const auto byte = [&](std::size_t i) { return static_cast<unsigned char>(text[i]); };
  const unsigned char lead = byte(0);
  if (lead < 0x80) return {lead, 1, true};

  std::size_t length = 0;
  char32_t code = 0;
  char32_t lowest = 0;
  if (lead >= 0xC2 && lead <= 0xDF) {
    length = 2, code = lead & 0x1FU, lowest = 0x80;
  } else if (lead >= 0xE0 && lead <= 0xEF) {
    length = 3, code = lead & 0x0FU, lowest = 0x800;
  } else if (lead >= 0xF0 && lead <= 0xF4) {
    length = 4, code = lead & 0x07U, lowest = 0x10000;
  } else {
    return {};
  }
  if (text.size() < length) return {};
  for (std::size_t i = 1; i < length; ++i) {
    if ((byte(i) & 0xC0U) != 0x80) return {};
    code = code << 6U | (byte(i) & 0x3FU);
  }
  const bool surrogate = code >= 0xD800 && code <= 0xDFFF;
  if (code < lowest || code > 0x10FFFF || surrogate) return {};
  return {code, length, true};
}

/// Returns whether it is a control character: C0, DEL or C1.
constexpr bool is_control(char32_t code) noexcept {
  return code < 0x20 || (code >= 0x7F && code <= 0x9F);
}

/// Returns whether it can end a line or change the direction of the text around it, although it is
/// no control character.
constexpr bool is_line_end_or_direction(char32_t code) noexcept {
  return code == 0x61C || code == 0x200E || code == 0x200F || (code >= 0x2028 && code <= 0x202E) ||
         (code >= 0x2066 && code <= 0x2069);
}

}  // namespace zklock::core
