// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <compare>
#include <cstdint>
#include <string>

#include "zklock/client/coordinator.h"

namespace zklock::client {

/// What the servers watch of a path, and are told to watch no more, separately. GetAndWatch and
/// ExistsAndWatch share one.
enum class WatchKind : std::uint8_t { data, children };

struct Watch {
  std::string path;
  WatchKind kind = WatchKind::data;
  friend auto operator<=>(const Watch&, const Watch&) = default;
};

/// Whether an event of the path is one for its watch of this kind, which is gone then.
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
