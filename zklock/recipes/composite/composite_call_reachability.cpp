// SPDX-License-Identifier: Apache-2.0
// Members of CompositeCall that find out whether the ensemble of a part can be reached.
#include <algorithm>
#include <utility>

#include "zklock/error.h"
#include "zklock/recipes/composite/composite_call.h"

namespace zklock::detail {

using core::CompositeState;

namespace {

std::size_t ms(core::Duration d) {
  return static_cast<std::size_t>(std::chrono::ceil<std::chrono::milliseconds>(d).count());
}

}  // namespace

core::Duration CompositeCall::part_timeout_with(core::Instant now, std::size_t parts_left) const {
  const core::Duration most = *composite_->rule().part_timeout;
  const Deadline deadline = request_.time_limit.deadline();
  if (deadline.is_never()) return most;
  const auto share = (deadline.at() - now) / static_cast<core::Duration::rep>(parts_left);
  return std::clamp<core::Duration>(share, std::chrono::milliseconds(1), most);
}

void CompositeCall::schedule_check(std::uint64_t request) {
  auto& scheduler = composite_->part(fsm_.requested_part()).core().scheduler();
  core::Instant due = scheduler.now() + part_timeout_ / 4;
  if (spare_) due = std::min(due, request_.time_limit.deadline().at());
  check_timer_ = scheduler.at(due, [weak = weak_from_this(), request] {
    if (const auto call = weak.lock()) {
      call->post([request](CompositeCall& c) { c.check_reachability(request); });
    }
  });
}

void CompositeCall::cancel_check() {
  auto& scheduler = composite_->part(fsm_.requested_part()).core().scheduler();
  scheduler.cancel(std::exchange(check_timer_, {}));
}

void CompositeCall::check_reachability(std::uint64_t request) {
  if (request != request_count_ || fsm_.state() != CompositeState::requesting) return;
  // The request for a spare part is a single attempt, which has no deadline. So the deadline of the
  // call is checked here.
  if (spare_ && late()) return carry_out(fsm_.on_part_timed_out());
  const std::size_t part = fsm_.requested_part();
  PathPartLock& lock = composite_->part(part);
  const auto now = lock.core().scheduler().now();
  if (lock.has_contact(request_.owner)) {
    last_contact_ = now;
    errors_[part] = nullptr;  // from an earlier round
  } else if (now - last_contact_ >= part_timeout_) {
    composite_->set_unreachable(part);
    errors_[part] = std::make_exception_ptr(Error(
        Errc::not_connected, "lock", lock.path(),
        "no answer from the ensemble within " + std::to_string(ms(part_timeout_)) +
            " ms; check its servers, or raise the deadline or QuorumOptions::ensemble_timeout"));
    return carry_out(fsm_.on_part_timed_out());
  }
  schedule_check(request);
}

}  // namespace zklock::detail
