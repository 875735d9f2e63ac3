// SPDX-License-Identifier: Apache-2.0
#include "zklock/core/lock_delay.h"

#include <algorithm>
#include <charconv>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <system_error>

namespace zklock::core {

namespace {

constexpr std::string_view kDelayPrefix = "delay-";

/// Takes a number and `end` from the front. Accepts every form of the number: the caller prints the
/// whole name again and compares.
std::optional<std::int64_t> take(std::string_view& text, std::string_view end) noexcept {
  std::int64_t number = 0;
  const auto [last, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (error != std::errc{}) return std::nullopt;
  text.remove_prefix(static_cast<std::size_t>(last - text.data()));
  if (!text.starts_with(end)) return std::nullopt;
  text.remove_prefix(end.size());
  return number;
}

}  // namespace

DelayMarker DelayMarker::make(std::chrono::milliseconds length, FencingToken token,
                              Sequence owner_sequence) {
  const std::string prefix = std::string(kDelayPrefix) + std::to_string(length.count()) + "-" +
                             std::to_string(token.zxid) + "-";
  return {.name = ZnodeName::make(prefix, owner_sequence).text,
          .length = length,
          .owner_sequence = owner_sequence};
}

std::optional<DelayMarker> DelayMarker::parse(std::string_view name) {
  if (!name.starts_with(kDelayPrefix)) return std::nullopt;
  std::string_view text = name.substr(kDelayPrefix.size());
  const auto length = take(text, "-");
  const auto token = length ? take(text, "-") : std::nullopt;
  const auto number = token ? take(text, "") : std::nullopt;
  constexpr std::int64_t kLast = std::numeric_limits<std::int32_t>::max();
  if (!number || *number < 0 || *number > kLast) return std::nullopt;
  // Compared in milliseconds: converted to a finer unit, the largest length would overflow.
  if (*length < 1 || *length > std::chrono::milliseconds(kLongestLockDelay).count()) {
    return std::nullopt;
  }
  auto marker =
      make(std::chrono::milliseconds(*length), {*token}, {static_cast<std::int32_t>(*number)});
  if (marker.name != name) return std::nullopt;
  return marker;
}

std::vector<DelayMarker> orphans(std::span<const std::string> children) {
  std::vector<DelayMarker> markers;
  for (const std::string& child : children) {
    if (auto marker = DelayMarker::parse(child)) markers.push_back(*std::move(marker));
  }
  if (markers.empty()) return markers;
  for (const std::string& child : children) {
    const auto contender = parse_znode_name(child);
    if (!contender) continue;
    std::erase_if(markers,
                  [&](const DelayMarker& m) { return m.owner_sequence == contender->sequence; });
  }
  return markers;
}

}  // namespace zklock::core
