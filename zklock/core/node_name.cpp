// SPDX-License-Identifier: Apache-2.0
#include "zklock/core/node_name.h"

#include <array>
#include <charconv>
#include <cstddef>
#include <iterator>
#include <limits>
#include <tuple>
#include <utility>

namespace zklock::core {
namespace {

constexpr std::size_t number_width = 10;
constexpr std::string_view permits_begin = "permits-";
constexpr std::string_view permits_of = "of-";

struct Marker {
  std::string_view text;
  Access access;
};
constexpr std::array<Marker, 5> markers{{{lock_prefix, Access::exclusive},
                                         {write_prefix, Access::exclusive},
                                         {read_prefix, Access::shared},
                                         {"__lock__", Access::exclusive},
                                         {"__rlock__", Access::shared}}};

/// Takes "<count>-" from the front; nothing unless it is as std::to_string prints a count above 0.
std::optional<std::int32_t> take_count(std::string_view& text) noexcept {
  std::int32_t count = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), count);
  const auto length = static_cast<std::size_t>(end - text.data());
  if (error != std::errc{} || text.front() == '0' || count < 1) return std::nullopt;
  if (length == text.size() || text[length] != '-') return std::nullopt;
  text.remove_prefix(length + 1);
  return count;
}

/// What the prefix says, all but the sequence.
std::optional<Contention> parse_prefix(std::string_view prefix) noexcept {
  Contention result{.prefix = prefix};
  for (const Marker& marker : markers) {
    if (!prefix.ends_with(marker.text)) continue;
    result.access = marker.access;
    return result;
  }
  if (!prefix.starts_with(permits_begin)) return std::nullopt;
  std::string_view rest = prefix.substr(permits_begin.size());
  const auto permits = take_count(rest);
  if (!permits) return std::nullopt;
  result.access = Access::permits;
  result.permits = *permits;
  if (rest.empty()) return result;
  if (!rest.starts_with(permits_of)) return std::nullopt;
  rest.remove_prefix(permits_of.size());
  const auto of = take_count(rest);
  if (!of || !rest.empty()) return std::nullopt;
  result.of = *of;
  return result;
}

}  // namespace

bool Contention::before(const Contention& other) const noexcept {
  return std::tie(sequence, name) < std::tie(other.sequence, other.name);
}

std::optional<Contention> parse_contention(std::string_view name) noexcept {
  if (name.size() < number_width) return std::nullopt;
  std::int64_t value = 0;  // ten digits always fit
  for (const char c : name.substr(name.size() - number_width)) {
    if (c < '0' || c > '9') return std::nullopt;
    value = value * 10 + (c - '0');
  }
  std::string_view prefix = name.substr(0, name.size() - number_width);
  auto result = parse_prefix(prefix);
  if (!result && prefix.ends_with('-')) {
    prefix.remove_suffix(1);
    result = parse_prefix(prefix);
    value = -value;
  }
  using Limits = std::numeric_limits<std::int32_t>;
  if (!result || value < Limits::min() || value > Limits::max()) return std::nullopt;
  result->name = name;
  result->sequence = {static_cast<std::int32_t>(value)};
  return result;
}

std::string permits_prefix(std::int32_t permits, std::int32_t of) {
  std::string text(permits_begin);
  text.append(std::to_string(permits)).append("-");
  if (of > 0) text.append(permits_of).append(std::to_string(of)).append("-");
  return text;
}

std::optional<NodeName> NodeName::parse(std::string_view text) {
  const auto contention = parse_contention(text);
  if (!contention) return std::nullopt;
  return NodeName{std::string(text), contention->sequence};
}

NodeName NodeName::make(std::string_view prefix, Sequence sequence) {
  char buffer[std::numeric_limits<std::int64_t>::digits10 + 2];
  // 64 bits: the smallest number has no opposite in 32.
  const std::int64_t value = sequence.value;
  const auto end = std::to_chars(std::begin(buffer), std::end(buffer), value < 0 ? -value : value);
  const std::string_view digits(buffer, static_cast<std::size_t>(end.ptr - buffer));

  std::string text(prefix);
  if (value < 0) text += '-';
  text.append(number_width - digits.size(), '0').append(digits);
  return NodeName{std::move(text), sequence};
}

bool NodeName::has_prefix(std::string_view prefix) const noexcept {
  return text.starts_with(prefix) && text == make(prefix, sequence).text;
}

}  // namespace zklock::core
