// SPDX-License-Identifier: Apache-2.0
#include "zklock/cli/core/contender_facts.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <cstddef>

#include "zklock/cli/core/text.h"
#include "zklock/lock_state.h"

namespace zklock::cli {

namespace {

constexpr std::size_t kHexLength = 32;   ///< length of Kazoo's identifiers
constexpr std::size_t kUuidLength = 36;  ///< length of Curator's identifiers

bool is_hex(std::string_view text) noexcept {
  return std::ranges::all_of(text, [](char c) {
    return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'f') || (c >= 'A' && c <= 'F');
  });
}

bool is_of_kazoo(std::string_view node) noexcept {
  if (node.size() < kHexLength || !is_hex(node.substr(0, kHexLength))) return false;
  const auto rest = node.substr(kHexLength);
  return rest.starts_with("__lock__") || rest.starts_with("__rlock__");
}

}  // namespace

Library library_of(const Participant& contender) noexcept {
  if (contender.pid != 0) return Library::zklock;
  const std::string_view node = contender.node;
  if (is_of_kazoo(node)) return Library::kazoo;
  if (!node.starts_with("_c_")) return Library::unknown;
  const auto rest = node.substr(3);
  if (rest.size() > kHexLength && rest[kHexLength] == '-' && is_hex(rest.substr(0, kHexLength))) {
    return Library::go_zookeeper;
  }
  return rest.size() > kUuidLength && rest[kUuidLength] == '-' ? Library::curator
                                                               : Library::unknown;
}

std::string session_text(std::int64_t session) {
  std::array<char, 16> digits{};
  const auto end = std::to_chars(digits.data(), digits.data() + digits.size(),
                                 static_cast<std::uint64_t>(session), 16);
  return "0x" + std::string(digits.data(), end.ptr);
}

std::string text_of(const Participant& contender) {
  if (contender.pid == 0) {
    return std::string(name_of(library_of(contender))) + ", session " +
           session_text(contender.session_id);
  }
  return display_text(to_string(contender));
}

std::string_view name_of(Library library) noexcept {
  constexpr std::array<std::string_view, 5> kNames{"zklock", "Curator", "go-zookeeper", "Kazoo",
                                                   "an unknown library"};
  return kNames.at(static_cast<std::size_t>(library));
}

bool is_writer(const Participant& contender) noexcept {
  return contender.access == Access::exclusive &&
         contender.node.find("__WRIT__") != std::string::npos;
}

bool is_known(WallTime time) noexcept {
  return time > WallTime();
}

bool is_unreadable(const Participant& contender) noexcept {
  return contender.session_id == 0 && !is_known(contender.since);
}

std::chrono::milliseconds age(WallTime then, WallTime now) noexcept {
  return std::max(
      std::chrono::milliseconds(0),
      std::chrono::duration_cast<std::chrono::milliseconds>(now - std::max(then, WallTime())));
}

std::optional<HoldAge> hold_age(const Participant& holder, WallTime now) noexcept {
  if (holder.held_since) return HoldAge{.age = age(*holder.held_since, now), .is_exact = true};
  if (!is_known(holder.since)) return std::nullopt;
  return HoldAge{.age = age(holder.since, now), .is_exact = false};
}

std::optional<std::chrono::milliseconds> alert_age(const Participant& holder,
                                                   WallTime now) noexcept {
  const auto held = hold_age(holder, now);
  if (!held || (!held->is_exact && library_of(holder) == Library::zklock)) return std::nullopt;
  return held->age;
}

}  // namespace zklock::cli
