// SPDX-License-Identifier: Apache-2.0
// The invariants of the acquire machine, asserted at the entry and the exit of every input.
#include <cassert>

#include "zklock/core/acquire_fsm.h"

namespace zklock::core {

bool AcquireFsm::can_follow(AcquireState before, AcquireState after) noexcept {
  if (before == AcquireState::granted || before == AcquireState::ended) return after == before;
  return after != AcquireState::idle || before == AcquireState::idle;
}

/// Returns whether node_ agrees with the state about the existence of an own znode.
bool AcquireFsm::is_node_consistent_with(AcquireState state) const noexcept {
  switch (state) {
    case AcquireState::idle:
    case AcquireState::making_parents:
    case AcquireState::removing_parent:
    case AcquireState::draining:
    case AcquireState::ended: return !node_.is_created();
    case AcquireState::enqueuing:
      return (awaited_ == Awaited::count || !node_.is_created()) && !node_.is_moving();
    case AcquireState::moving: return node_.is_created() && node_.is_moving();
    case AcquireState::proving:
    case AcquireState::recovering:
    case AcquireState::inspecting: return node_.is_created() == node_.is_moving();
    case AcquireState::listing:
    case AcquireState::delaying:
    case AcquireState::clearing:
    case AcquireState::arming:
    case AcquireState::waiting: return node_.exists();
    case AcquireState::creating_count:
    case AcquireState::confirming:
    case AcquireState::marking:
    case AcquireState::granted: return node_.exists() && node_.in_queue();
    case AcquireState::pausing: return false;  // paused_in_ is never pausing
  }
  return false;
}

void AcquireFsm::assert_invariants() const noexcept {
  const bool is_paused = state_ == AcquireState::pausing;
  [[maybe_unused]] const AcquireState state = is_paused ? paused_in_ : state_;

  assert(is_node_consistent_with(state));
  assert(predecessors_.is_consistent_with(state_));
  assert(!node_.is_created() || !node_.name().empty() || !node_.has_usable_number());
  assert(node_.in_queue() || policy_.gate);
  assert(!ending_ || !node_.exists() || state_ == AcquireState::enqueuing ||
         state_ == AcquireState::granted);
  assert(!is_paused || !awaits_event(paused_in_));

  assert(count_creates_in_row_ >= 0 && parents_in_row_ >= 0 && unusable_numbers_ >= 0);

  switch (state_) {
    case AcquireState::enqueuing: assert(attempt_.has_begun()); break;
    case AcquireState::inspecting: assert(!rare_->candidates.empty()); break;
    case AcquireState::waiting: assert(policy_.wait); break;
    case AcquireState::marking: assert(needs_marker() && !delay_markers().is_own_created); break;
    case AcquireState::delaying:
    case AcquireState::clearing: assert(!delay_markers().orphans.empty()); break;
    case AcquireState::granted:
      assert(node_.has_usable_number());
      assert(!needs_marker() || delay_markers().is_own_created);
      break;
    case AcquireState::idle:
    case AcquireState::making_parents:
    case AcquireState::proving:
    case AcquireState::recovering:
    case AcquireState::listing:
    case AcquireState::moving:
    case AcquireState::creating_count:
    case AcquireState::arming:
    case AcquireState::confirming:
    case AcquireState::pausing:
    case AcquireState::removing_parent:
    case AcquireState::draining:
    case AcquireState::ended: break;
  }
}

}  // namespace zklock::core
