// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

namespace zklock::core {

/// The id of the current attempt of a contender to create a znode: `<prefix><number>.<attempt>`.
/// The prefix is unique to the client, and `number` identifies the contender. The id is in the data
/// of the znode, so the contender finds its znode if the reply to the create is lost.
class AttemptId {
 public:
  /// REQUIRES: no other contender of the client has this `number`, and no other client has this
  /// `prefix`. `prefix` has at most 32 printable bytes. Its last byte is not a digit. It outlives
  /// the id.
  AttemptId(const char* prefix, std::uint64_t number) noexcept : prefix_(prefix), number_(number) {}

  std::uint64_t number() const noexcept { return number_; }
  std::string text() const {
    constexpr std::size_t kNumberDigits = 20;
    const std::string_view prefix(prefix_);
    std::string text;
    text.reserve(prefix.size() + 2 * kNumberDigits);
    text.append(prefix).append(std::to_string(number_)) += '.';
    text += std::to_string(attempts_);
    return text;
  }
  bool has_begun() const noexcept { return attempts_ > 0; }
  void advance() noexcept { ++attempts_; }

 private:
  const char* prefix_;
  std::uint64_t number_;
  int attempts_ = 0;
};

}  // namespace zklock::core
