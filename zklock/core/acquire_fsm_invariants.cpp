// SPDX-License-Identifier: Apache-2.0
// The invariants of the acquire machine, asserted at the entry and the exit of every input.
#include <cassert>
#include <cstdint>

#include "zklock/core/acquire_fsm.h"

namespace zklock::core {

bool AcquireFsm::can_follow(AcquireState before, AcquireState after) noexcept {
  if (before == AcquireState::granted || before == AcquireState::ended) return after == before;
  return after != AcquireState::idle || before == AcquireState::idle;
}

/// Returns whether session_ and stage_ agree with the state about the existence of an own znode.
bool AcquireFsm::is_node_consistent_with(AcquireState state) const noexcept {
  const bool has_session = session_.value != 0;
  switch (state) {
    case AcquireState::idle:
    case AcquireState::making_parents:
    case AcquireState::removing_parent:
    case AcquireState::draining:
    case AcquireState::skipping:
    case AcquireState::ended: return !has_session;
    case AcquireState::enqueuing:
      return (awaited_ == Awaited::count || !has_session) && stage_ != Stage::moving;
    case AcquireState::moving: return has_session && stage_ == Stage::moving;
    case AcquireState::proving:
    case AcquireState::recovering:
    case AcquireState::inspecting: return has_session == (stage_ == Stage::moving);
    case AcquireState::listing:
    case AcquireState::delaying:
    case AcquireState::clearing:
    case AcquireState::arming:
    case AcquireState::waiting: return has_node();
    case AcquireState::seeding:
    case AcquireState::confirming:
    case AcquireState::marking:
    case AcquireState::granted: return has_node() && stage_ == Stage::queue;
    case AcquireState::pausing: return false;  // paused_in_ is never pausing
  }
  return false;
}

void AcquireFsm::assert_invariants() const noexcept {
  const bool is_paused = state_ == AcquireState::pausing;
  [[maybe_unused]] const AcquireState state = is_paused ? paused_in_ : state_;
  [[maybe_unused]] const bool watching =
      state_ == AcquireState::arming || state_ == AcquireState::waiting;
  [[maybe_unused]] const auto watches = static_cast<std::int32_t>(watched_.size());

  assert(is_node_consistent_with(state));
  assert(session_.value == 0 || !own_.text.empty() || has_unusable_number());
  assert(stage_ == Stage::queue || policy_.gate);
  assert(!ending_ || !has_node() || state_ == AcquireState::enqueuing ||
         state_ == AcquireState::granted);
  assert(!is_paused || !awaits_event(paused_in_));

  assert(active_watches_ >= 0 && (active_watches_ == 0 || watching));
  assert(seeds_in_row_ >= 0 && parents_in_row_ >= 0 && unusable_numbers_ >= 0);

  switch (state_) {
    case AcquireState::enqueuing: assert(attempts_ > 0); break;
    case AcquireState::inspecting: assert(!rare_->candidates.empty()); break;
    case AcquireState::arming:
      assert(outstanding_watches_ > 0 && active_watches_ + outstanding_watches_ <= watches);
      break;
    case AcquireState::waiting:
      assert(policy_.wait && has_waited_ && active_watches_ == watches);
      assert(grant_by_release_ == GrantByRelease::no || watches == 1);
      break;
    case AcquireState::marking: assert(needs_marker() && !rare_->marker_created); break;
    case AcquireState::delaying:
    case AcquireState::clearing: assert(!orphans().empty()); break;
    case AcquireState::granted:
      assert(!has_unusable_number());
      assert(!needs_marker() || rare_->marker_created);
      break;
    case AcquireState::idle:
    case AcquireState::making_parents:
    case AcquireState::proving:
    case AcquireState::recovering:
    case AcquireState::listing:
    case AcquireState::moving:
    case AcquireState::seeding:
    case AcquireState::confirming:
    case AcquireState::pausing:
    case AcquireState::removing_parent:
    case AcquireState::draining:
    case AcquireState::skipping:
    case AcquireState::ended: break;
  }
}

}  // namespace zklock::core
