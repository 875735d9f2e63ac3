// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <string_view>

#include "zklock/core/znode_data.h"

/// Each fuzzing target defines this function. It checks its promises on one input by require().
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size);

namespace zklock::fuzz {

/// Ends the program if a promise is broken; libFuzzer then stores the input.
inline void require(bool kept, const char* promise, std::string_view about = {}) {
  if (kept) return;
  std::fprintf(stderr, "BROKEN: %s %.*s\n", promise, static_cast<int>(about.size()), about.data());
  std::abort();
}

inline std::string_view as_text(const std::uint8_t* data, std::size_t size) noexcept {
  return {reinterpret_cast<const char*>(data), size};
}

/// Returns whether core::printable() would not change the text. Plain ASCII is checked fast.
inline bool is_fit_to_be_shown(std::string_view text) {
  for (const char c : text) {
    if (c < 0x20 || c > 0x7E) return core::printable(text, text.size()) == text;
  }
  return true;
}

/// Reads an input as choices, from front to end. After its end every choice is 0.
///
/// Thread-safety: none.
class Choices {
 public:
  Choices(const std::uint8_t* data, std::size_t size) noexcept : left_(as_text(data, size)) {}

  bool any_left() const noexcept { return !left_.empty(); }
  unsigned byte() noexcept {
    if (left_.empty()) return 0;
    const auto first = static_cast<unsigned char>(left_.front());
    left_.remove_prefix(1);
    return first;
  }
  unsigned below(std::size_t n) noexcept { return byte() % static_cast<unsigned>(n); }
  bool one_in(unsigned n) noexcept { return byte() % n == n - 1; }
  /// Returns as many bytes as the next byte says.
  std::string_view text() noexcept {
    const std::string_view taken = left_.substr(0, byte_before_text());
    left_.remove_prefix(taken.size());
    return taken;
  }
  std::string_view rest() const noexcept { return left_; }

 private:
  std::size_t byte_before_text() noexcept { return byte() % 32; }

  std::string_view left_;
};

}  // namespace zklock::fuzz
