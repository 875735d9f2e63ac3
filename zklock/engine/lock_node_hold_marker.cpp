// SPDX-License-Identifier: Apache-2.0
// The hold marker of a lock node; see core/hold_marker.h.
#include <chrono>

#include "zklock/engine/lock_node.h"

namespace zklock::detail {

namespace request = client::request;

// No contender reads the marker. So a missing marker, or a marker that is deleted late, affects no
// grant. The create is sent at once or not at all. After a wait for a connection, the name of the
// own znode may be another contender's.
bool LockNode::mark_hold() {
  if (!core().settings().marks_holds || queued_ms_ == 0 || is_name_unknown()) return false;
  if (!holding_->marker.on_tick(held_for(), core().keeper().timeout())) return false;
  core().coordinator().submit(
      {.operation = while_queued(request::write::Create{
           .path = hold_marker_path(), .ephemeral = true, .contender = true, .is_optional = true}),
       .session = fsm_.node().session(),
       .fail_if_disconnected = true},
      under_lock([this](const client::Reply& r) { holding_->marker.on_created(r.status); }));
  return true;
}

std::string LockNode::hold_marker_path() const {
  const auto waited = std::chrono::floor<std::chrono::milliseconds>(holding_->since - made_at_);
  const core::HoldMarker marker{queued_ms_ + waited.count(), fsm_.node().sequence()};
  return path_->path().child(marker.name());
}

std::optional<Cleaner::Sibling> LockNode::take_hold_marker() {
  using Removal = core::HoldMarkerState::Removal;
  const Removal how = holding_ ? holding_->marker.on_release() : Removal::none;
  if (how == Removal::none) return std::nullopt;
  return Cleaner::Sibling{.path = hold_marker_path(), .may_be_missing = how == Removal::after_node};
}

}  // namespace zklock::detail
