// SPDX-License-Identifier: Apache-2.0
#include "zklock/core/znode_name.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <cstddef>
#include <iterator>
#include <limits>
#include <tuple>
#include <utility>

namespace zklock::core {
namespace {

constexpr std::size_t kNumberWidth = 10;
/// "<begin><first>-" or "<begin><first>-<middle><second>-".
struct Counted {
  std::string_view begin;
  std::string_view middle;
};
constexpr Counted kPermitsFormat{"permits-", "of-"};
constexpr Counted kWeightFormat{"weight-", "age-"};

constexpr std::size_t kHexIdLength = 32;

bool is_hex(std::string_view text) noexcept {
  return std::ranges::all_of(text, [](char c) {
    return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'f') || (c >= 'A' && c <= 'F');
  });
}

bool is_hex_id(std::string_view text) noexcept {
  return text.size() == kHexIdLength && is_hex(text);
}

bool is_uuid(std::string_view text) noexcept {
  for (const std::size_t digits : {8U, 4U, 4U, 4U}) {
    if (text.size() <= digits || text[digits] != '-' || !is_hex(text.substr(0, digits))) {
      return false;
    }
    text.remove_prefix(digits + 1);
  }
  return text.size() == 12 && is_hex(text);
}

/// Returns whether `text` is "_c_<id>-", with an id that `is_id` accepts.
template <class IsId>
bool is_protection(std::string_view text, IsId is_id) noexcept {
  constexpr std::string_view kProtection = "_c_";
  if (!text.starts_with(kProtection) || !text.ends_with('-')) return false;
  text.remove_prefix(kProtection.size());
  return !text.empty() && is_id(text.substr(0, text.size() - 1));
}

bool is_unprotected(std::string_view before) noexcept {
  return before.empty();
}

bool is_curators(std::string_view before) noexcept {
  return is_protection(before, is_uuid);
}

bool is_gos(std::string_view before) noexcept {
  return is_protection(before, is_hex_id);
}

/// The table of parse_znode_name(), without the names that have counts.
struct Format {
  bool (*accepts)(std::string_view before) noexcept;  ///< the text ahead of the marker
  std::string_view marker;
  Access access;
};
constexpr std::array<Format, 9> kFormats{{{is_unprotected, kLockPrefix, Access::exclusive},
                                          {is_unprotected, kWritePrefix, Access::exclusive},
                                          {is_unprotected, kReadPrefix, Access::shared},
                                          {is_curators, kLockPrefix, Access::exclusive},
                                          {is_curators, kWritePrefix, Access::exclusive},
                                          {is_curators, kReadPrefix, Access::shared},
                                          {is_gos, kLockPrefix, Access::exclusive},
                                          {is_hex_id, "__lock__", Access::exclusive},
                                          {is_hex_id, "__rlock__", Access::shared}}};

/// Takes "<count>-" from the front. Returns std::nullopt unless std::to_string prints the count so,
/// and it is above 0.
std::optional<std::int32_t> take_count(std::string_view& text) noexcept {
  std::int32_t count = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), count);
  const auto length = static_cast<std::size_t>(end - text.data());
  if (error != std::errc{} || text.front() == '0' || count < 1) return std::nullopt;
  if (length == text.size() || text[length] != '-') return std::nullopt;
  text.remove_prefix(length + 1);
  return count;
}

struct Counts {
  std::int32_t first = 0;
  std::int32_t second = 0;
};

std::optional<Counts> parse_counts(std::string_view text, const Counted& format) noexcept {
  if (!text.starts_with(format.begin)) return std::nullopt;
  text.remove_prefix(format.begin.size());
  const auto first = take_count(text);
  if (!first) return std::nullopt;
  if (text.empty()) return Counts{*first, 0};
  if (!text.starts_with(format.middle)) return std::nullopt;
  text.remove_prefix(format.middle.size());
  const auto second = take_count(text);
  if (!second || !text.empty()) return std::nullopt;
  return Counts{*first, *second};
}

std::string print_counts(const Counted& format, Counts counts) {
  std::string text(format.begin);
  text.append(std::to_string(counts.first)).append("-");
  if (counts.second > 0) {
    text.append(format.middle).append(std::to_string(counts.second)).append("-");
  }
  return text;
}

/// Returns the content of the name, without the sequence number.
std::optional<ParsedZnodeName> parse_prefix(std::string_view prefix) noexcept {
  ParsedZnodeName result{.prefix = prefix};
  for (const Format& format : kFormats) {
    if (!prefix.ends_with(format.marker)) continue;
    if (!format.accepts(prefix.substr(0, prefix.size() - format.marker.size()))) continue;
    result.access = format.access;
    return result;
  }
  if (const auto counts = parse_counts(prefix, kPermitsFormat)) {
    result.access = Access::permits;
    result.permits = counts->first;
    result.named_total = counts->second;
    return result;
  }
  if (const auto counts = parse_counts(prefix, kWeightFormat);
      counts && counts->first <= kMostWeight) {
    result.access = Access::weighted;
    result.weight = counts->first;
    result.ageing = counts->second;
    return result;
  }
  return std::nullopt;
}

}  // namespace

bool ParsedZnodeName::is_of_zklock() const noexcept {
  const bool counted =
      prefix.starts_with(kPermitsFormat.begin) || prefix.starts_with(kWeightFormat.begin);
  return counted || prefix == kLockPrefix || prefix == kWritePrefix || prefix == kReadPrefix;
}

bool ParsedZnodeName::before(const ParsedZnodeName& other) const noexcept {
  return std::tie(sequence, name) < std::tie(other.sequence, other.name);
}

std::optional<ParsedZnodeName> parse_znode_name(std::string_view name) noexcept {
  if (name.size() < kNumberWidth) return std::nullopt;
  std::int64_t value = 0;  // ten digits always fit
  for (const char c : name.substr(name.size() - kNumberWidth)) {
    if (c < '0' || c > '9') return std::nullopt;
    value = value * 10 + (c - '0');
  }
  std::string_view prefix = name.substr(0, name.size() - kNumberWidth);
  auto result = parse_prefix(prefix);
  if (!result && prefix.ends_with('-') && value > 0) {
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

std::string permits_prefix(std::int32_t permits, std::int32_t named_total) {
  return print_counts(kPermitsFormat, {permits, named_total});
}

std::string weight_prefix(std::int32_t weight, std::int32_t ageing) {
  return print_counts(kWeightFormat, {weight, ageing});
}

std::optional<ZnodeName> ZnodeName::parse(std::string_view text) {
  const auto parsed = parse_znode_name(text);
  if (!parsed) return std::nullopt;
  return ZnodeName{std::string(text), parsed->sequence};
}

ZnodeName ZnodeName::make(std::string_view prefix, Sequence sequence) {
  char buffer[std::numeric_limits<std::int64_t>::digits10 + 2];
  // 64 bits: the smallest 32-bit number cannot be negated in 32.
  const std::int64_t value = sequence.value;
  const auto end = std::to_chars(std::begin(buffer), std::end(buffer), value < 0 ? -value : value);
  const std::string_view digits(buffer, static_cast<std::size_t>(end.ptr - buffer));

  std::string text(prefix);
  if (value < 0) text += '-';
  text.append(kNumberWidth - digits.size(), '0').append(digits);
  return ZnodeName{std::move(text), sequence};
}

bool ZnodeName::has_prefix(std::string_view prefix) const noexcept {
  return text.starts_with(prefix) && text == make(prefix, sequence).text;
}

std::optional<ZnodeName> ZnodeName::as_reader() const {
  if (!has_prefix(kWritePrefix)) return std::nullopt;
  return make(kReadPrefix, sequence);
}

}  // namespace zklock::core
