// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <utility>

namespace zklock::cli {

/// Stands for a byte that begins no character of UTF-8.
inline constexpr char32_t kNoCharacter = 0xFFFFFFFF;
/// Removes the first character of a UTF-8 text, or the first byte of another text. Returns its
/// code, or kNoCharacter. REQUIRES: the text is not empty.
char32_t take_character(std::string_view& text) noexcept;

/// Returns `text` for a terminal or a log. It replaces by '?' what could change the display of
/// other text. That is control characters, invalid UTF-8, marks of text direction, characters
/// without width, and private ones. The texts of znodes, paths and names come from other programs,
/// so each output passes them through this function.
[[nodiscard]] std::string display_text(std::string_view text);

/// Returns a count and the words for it: "1 lock", "2 locks". The plural has an "s" unless it is
/// given.
[[nodiscard]] inline std::string counted(std::size_t count, std::string_view one,
                                         std::string_view many = {}) {
  std::string text = std::to_string(count) + ' ';
  if (count != 1 && !many.empty()) return text.append(many);
  return text.append(one).append(count == 1 ? "" : "s");
}

/// Returns the name that was probably meant: at most two characters are missing, extra or
/// different, and fewer than `written` has. Returns an empty text if there is none.
[[nodiscard]] std::string_view closest_name(std::string_view written,
                                            std::span<const std::string_view> names);

/// A text that several connections send. May be null.
using SharedText = std::shared_ptr<const std::string>;

inline SharedText shared(std::string text) {
  return std::make_shared<const std::string>(std::move(text));
}

}  // namespace zklock::cli
