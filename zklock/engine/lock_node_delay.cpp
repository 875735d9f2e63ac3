// SPDX-License-Identifier: Apache-2.0
// The lock delay of a lock node: its own marker, and the markers of lost holds; see
// core/lock_delay.h.
#include <algorithm>

#include "zklock/client/port/submit_then_get.h"
#include "zklock/engine/lock_node.h"

namespace zklock::detail {

namespace request = client::request;

request::Transaction LockNode::while_queued(request::Write write) const {
  return {path_->path().child(own_name()), {std::move(write)}};
}

void LockNode::mark(const Effect& effect) {
  // The data show people which contender left the marker.
  request::write::Create marker{path_->path().child(effect.text),
                                core().identify(caller_).encode()};
  const std::string own = path_->path().child(own_name());
  client::submit_then_get(
      core().coordinator(), while_queued(std::move(marker)), own, effect.session,
      under_lock([this](const client::Reply& made, const client::Reply& get) {
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
  core().cleaner().remove(fsm_.node().session(),
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
         under_lock([this, marker](const client::Reply& r) {
           if (r.status == core::Status::ok) core().delay_marker_clock().forget(marker);
           run(fsm_.on_done({r.status, r.detail}));
         }));
}

void LockNode::delay() {
  end_delay();
  const core::Instant now = core().scheduler().now();
  core::Instant due = now;
  for (const core::DelayMarker& orphan : fsm_.delay_markers().orphans) {
    const std::string marker = path_->path().child(orphan.name);
    due = std::max(due, core().delay_marker_clock().first_seen(marker, now) + orphan.length);
  }
  if (due <= now) return run(fsm_.on_delay_over());
  if (!fsm_.policy().wait) return run(fsm_.withdraw());
  Delays& delays = delays_.write();
  delays.timer = core().scheduler().at(
      due, under_lock(delays.epoch.guard([this]() { run(fsm_.on_delay_over()); })));
}

void LockNode::end_delay() noexcept {
  if (delays_->timer == client::TimerId{}) return;
  Delays& delays = delays_.write();
  delays.epoch.end();
  core().scheduler().cancel(std::exchange(delays.timer, {}));
}

}  // namespace zklock::detail
