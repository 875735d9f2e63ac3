// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <compare>
#include <cstdint>
#include <string>

#include "zklock/client/port/coordinator.h"

namespace zklock::client {

/// The two kinds of watch of a path. Each is set and removed separately. GetAndWatch and
/// ExistsAndWatch share the kind `data`.
enum class WatchKind : std::uint8_t { data, children };

struct Watch {
  std::string path;
  WatchKind kind = WatchKind::data;
  friend auto operator<=>(const Watch&, const Watch&) = default;
};

/// Returns whether `event` fires, and so ends, a watch of this kind on its path.
constexpr bool concerns(request::WatchEvent event, WatchKind kind) noexcept {
  switch (event) {
    case request::WatchEvent::created:
    case request::WatchEvent::changed: return kind == WatchKind::data;
    case request::WatchEvent::children: return kind == WatchKind::children;
    case request::WatchEvent::deleted: return true;
  }
  return false;
}

}  // namespace zklock::client
