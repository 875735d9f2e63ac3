// SPDX-License-Identifier: Apache-2.0
#include "zklock/core/proclamation.h"

#include <charconv>
#include <cstdint>
#include <system_error>

namespace zklock::core {

namespace {

constexpr std::string_view kBegin = "zklock 1 proclaimed ";

}  // namespace

std::string Proclamation::encode() const {
  std::string text(kBegin);
  text.append(std::to_string(leader.zxid)).append("\n").append(value);
  return text;
}

std::optional<Proclamation> Proclamation::parse(std::string_view text) {
  if (!text.starts_with(kBegin)) return std::nullopt;
  text.remove_prefix(kBegin.size());
  std::int64_t zxid = 0;
  const char* const all = text.data() + text.size();
  const auto [end, error] = std::from_chars(text.data(), all, zxid);
  if (error != std::errc() || end == all || *end != '\n' || zxid <= 0) return std::nullopt;
  return Proclamation{{zxid}, std::string(end + 1, all)};
}

}  // namespace zklock::core
