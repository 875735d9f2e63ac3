// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <optional>
#include <system_error>
#include <utility>

#include "zklock/core/lazy.h"
#include "zklock/core/lock_path.h"
#include "zklock/engine/callback/lock_listener.h"
#include "zklock/fencing_token.h"
#include "zklock/hold.h"
#include "zklock/lock_event.h"
#include "zklock/owner.h"

namespace zklock::detail {

/// Reports the events of one contender to the listener of its object, if there is one.
///
/// Thread-safety: const members, from any thread. REQUIRES for report(): path_mutex is held, which
/// keeps the events in the order in which they happened.
class LockEventReporter {
 public:
  /// `path` outlives this object.
  LockEventReporter(const core::LockPath& path, Owner owner, LockEventSink sink)
      : path_(path), owner_(owner), sink_(std::move(sink)) {}

  const Owner& owner() const noexcept { return owner_; }
  /// Returns whether there is a listener.
  bool has_listener() const noexcept { return static_cast<bool>(*sink_); }
  void report(LockEvent::Kind kind, FencingToken token, std::size_t position = 0,
              std::optional<LossReason> reason = {}) const noexcept {
    if (!has_listener()) return;
    try {
      sink_->listener->notify({.kind = kind,
                               .path = path_.str(),
                               .owner = owner_,
                               .token = token,
                               .position = position,
                               .part_index = sink_->part_index,
                               .reason = reason});
    } catch (const std::system_error&) {
      // The listener's thread could not be started. The event is delivered with the next one.
    }
  }

 private:
  const core::LockPath& path_;
  const Owner owner_;
  const core::Lazy<LockEventSink> sink_;
};

}  // namespace zklock::detail
