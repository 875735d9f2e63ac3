// SPDX-License-Identifier: Apache-2.0
// The markers of a lock node. Those of the lock delay are its own and those of lost holds; see
// core/lock_delay.h. The hold marker is its own; see core/hold_marker.h.
#include <algorithm>
#include <chrono>

#include "zklock/client/port/submit_then_get.h"
#include "zklock/engine/lock_node.h"

namespace zklock::detail {

namespace request = client::request;

// ---- the lock delay -----------------------------------------------------------------------------

request::Transaction LockNode::while_queued(request::Write write) const {
  return {path_->path().child(own_name()), {std::move(write)}};
}

void LockNode::mark(const Effect& effect) {
  // The data show people which contender left the marker.
  request::write::Create marker{path_->path().child(effect.text),
                                context().identify(caller_).encode()};
  const std::string own = path_->path().child(own_name());
  client::submit_then_get(
      context().coordinator(), while_queued(std::move(marker)), own, effect.session,
      under_lock(weak_from_this(), [this](const client::Reply& made, const client::Reply& get) {
        // If the ACL forbids the read, the name alone decides.
        const bool unreadable = get.status == core::Status::no_auth;
        const auto status = unreadable ? made.status : status_for_own(made, get);
        run(fsm_.on_done({status, made.detail}, update_lease()));
      }));
}

void LockNode::cancel_lock_delay() {
  if (!fsm_.delay_markers().has_own()) return;
  delays_.write().unwanted_marker = fsm_.take_delay_marker();
}

// The name is kept: a release before this delete has ended must delete the marker too.
void LockNode::remove_unwanted_delay_marker(BackgroundWork::Id work) {
  if (unwanted_delay_marker().empty()) return;
  context().cleaner().remove(fsm_.node().session(),
                             {.path = path_->path().child(unwanted_delay_marker())},
                             Cleaner::Step::deleting, {}, work);
}

std::string LockNode::take_unwanted_delay_marker() {
  if (unwanted_delay_marker().empty()) return {};
  return std::exchange(delays_.write().unwanted_marker, {});
}

void LockNode::clear(const Effect& effect) {
  const std::string marker = path_->path().child(effect.text);
  submit(while_queued(request::write::Remove{marker}), effect.session,
         under_lock(weak_from_this(), [this, marker](const client::Reply& r) {
           if (r.status == core::Status::ok) context().delay_marker_times().forget(marker);
           run(fsm_.on_done({r.status, r.detail}));
         }));
}

void LockNode::delay() {
  end_delay();
  const core::Instant now = context().scheduler().now();
  core::Instant due = now;
  for (const core::DelayMarker& orphan : fsm_.delay_markers().orphans) {
    const std::string marker = path_->path().child(orphan.name);
    due = std::max(due, context().delay_marker_times().first_seen(marker, now) + orphan.length);
  }
  if (due <= now) return run(fsm_.on_delay_over());
  if (!fsm_.policy().wait) return run(fsm_.withdraw());
  // A timer of an earlier delay can have begun to run. The record of the marker may be deleted by
  // then, so its time is not looked up again.
  const auto look_again = [this] {
    const bool is_due = context().scheduler().now() >= delays_->due;
    if (is_due && !has_ended_ && fsm_.state() == core::AcquireState::delaying) {
      run(fsm_.on_delay_over());
    }
  };
  Delays& delays = delays_.write();
  delays.due = due;
  delays.timer = context().scheduler().at(due, under_lock(weak_from_this(), look_again));
}

void LockNode::end_delay() noexcept {
  if (delays_->timer == client::TimerId{}) return;
  context().scheduler().cancel(std::exchange(delays_.write().timer, {}));
}

// ---- the hold marker ----------------------------------------------------------------------------

// No contender reads the marker. So a missing marker, or a marker that is deleted late, affects no
// grant. The create is sent at once or not at all. After a wait for a connection, the name of its
// znode may belong to another contender.
bool LockNode::mark_hold() {
  if (!context().settings().marks_holds || created_ms_ == 0 || is_name_unknown()) return false;
  if (!holding_->marker.on_tick(held_for(), context().keeper().timeout())) return false;
  context().coordinator().submit(
      {.operation = while_queued(request::write::Create{
           .path = hold_marker_path(), .ephemeral = true, .lock_acl = true, .leaves_room = true}),
       .session = fsm_.node().session(),
       .fail_if_disconnected = true},
      under_lock(weak_from_this(),
                 [this](const client::Reply& r) { holding_->marker.on_created(r.status); }));
  return true;
}

std::string LockNode::hold_marker_path() const {
  const auto waited =
      std::chrono::floor<std::chrono::milliseconds>(holding_->since - create_sent_at_);
  const core::HoldMarker marker{created_ms_ + waited.count(), fsm_.node().sequence()};
  return path_->path().child(marker.name());
}

std::optional<Cleaner::Sibling> LockNode::take_hold_marker() {
  using Removal = core::HoldMarkerState::Removal;
  const Removal how = holding_ ? holding_->marker.on_release() : Removal::none;
  if (how == Removal::none) return std::nullopt;
  return Cleaner::Sibling{.path = hold_marker_path(), .may_be_missing = how == Removal::after_node};
}

}  // namespace zklock::detail
