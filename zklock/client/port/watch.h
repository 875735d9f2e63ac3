// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <compare>
#include <cstdint>
#include <functional>
#include <string>

#include "zklock/core/session.h"

namespace zklock::client {

using core::SessionId;

namespace request {

/// A change of a watched path.
enum class WatchEvent {
  created,   ///< the znode was created
  changed,   ///< its data was set
  children,  ///< a child was created or deleted
  deleted,   ///< the znode was deleted
};
/// The handler of a watch event. GetAndWatch, ListAndWatch and ExistsAndWatch register it. If the
/// reply arms the watch, the handler is called at most once, and only after the reply's handler
/// has returned. Any other reply registers nothing. REQUIRES: the handler is not empty:
/// implementations use an empty one for a cancelled watch.
using OnWatchEvent = std::function<void(SessionId, WatchEvent)>;

}  // namespace request

/// The two kinds of watch of a path. Each is set and removed separately. GetAndWatch and
/// ExistsAndWatch share the kind `data`.
enum class WatchKind : std::uint8_t { data, children };

struct Watch {
  std::string path;
  WatchKind kind = WatchKind::data;
  friend auto operator<=>(const Watch&, const Watch&) = default;
};

/// Returns whether `event` on a path fires, and so ends, the watch of this kind on that path.
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
