// SPDX-License-Identifier: Apache-2.0
#include "zklock/core/node_name.h"

#include <algorithm>
#include <charconv>
#include <cstddef>
#include <iterator>
#include <limits>
#include <utility>

namespace zklock::core {
namespace {

constexpr std::string_view kazoo_prefix = "__lock__";
constexpr std::size_t number_width = 10;

bool ends_in_prefix(std::string_view text) noexcept {
  return text.ends_with(lock_prefix) || text.ends_with(kazoo_prefix);
}

}  // namespace

std::optional<Sequence> parse_sequence(std::string_view text) noexcept {
  if (text.size() < number_width) return std::nullopt;
  const std::string_view digits = text.substr(text.size() - number_width);
  std::int64_t value = 0;  // ten digits always fit
  for (const char c : digits) {
    if (c < '0' || c > '9') return std::nullopt;
    value = value * 10 + (c - '0');
  }
  // Digits contain no prefix, so the one that ends here is the last.
  std::string_view rest = text.substr(0, text.size() - number_width);
  if (!ends_in_prefix(rest)) {
    if (!rest.ends_with('-')) return std::nullopt;
    rest.remove_suffix(1);
    if (!ends_in_prefix(rest)) return std::nullopt;
    value = -value;
  }
  using Limits = std::numeric_limits<std::int32_t>;
  if (value < Limits::min() || value > Limits::max()) return std::nullopt;
  return Sequence{static_cast<std::int32_t>(value)};
}

std::optional<NodeName> NodeName::parse(std::string_view text) {
  const auto sequence = parse_sequence(text);
  if (!sequence) return std::nullopt;
  const auto after_prefix = text.substr(std::min(text.size(), lock_prefix.size()));
  const auto own_size = number_width + (after_prefix.starts_with('-') ? 1U : 0U);
  const bool own_format = text.starts_with(lock_prefix) && after_prefix.size() == own_size;
  return NodeName{std::string(text), *sequence, own_format};
}

NodeName NodeName::make(Sequence sequence) {
  char buffer[std::numeric_limits<std::int64_t>::digits10 + 2];
  // 64 bits: the smallest number has no opposite in 32.
  const std::int64_t value = sequence.value;
  const auto end = std::to_chars(std::begin(buffer), std::end(buffer), value < 0 ? -value : value);
  const std::string_view digits(buffer, static_cast<std::size_t>(end.ptr - buffer));

  std::string text(lock_prefix);
  if (value < 0) text += '-';
  text.append(number_width - digits.size(), '0').append(digits);
  return NodeName{std::move(text), sequence, true};
}

bool NodeName::before(const NodeName& other) const noexcept {
  if (sequence != other.sequence) return sequence < other.sequence;
  return text < other.text;
}

}  // namespace zklock::core
