// SPDX-License-Identifier: Apache-2.0
#include "zklock/core/child_nodes.h"

#include <charconv>
#include <cstdint>
#include <system_error>

#include "zklock/core/hold_marker.h"
#include "zklock/core/lock_delay.h"
#include "zklock/core/znode_name.h"

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

ChildKind kind_of(std::string_view child) {
  if (parse_znode_name(child)) return ChildKind::contender;
  if (HoldMarker::parse(child)) return ChildKind::hold_marker;
  if (DelayMarker::parse(child)) return ChildKind::delay_marker;
  if (child.starts_with(kReleaseRequestPrefix)) return ChildKind::release_request;
  if (child.starts_with(kProclamationPrefix)) return ChildKind::proclamation;
  if (child == kCountNode) return ChildKind::permit_count;
  return ChildKind::other;
}

}  // namespace zklock::core
