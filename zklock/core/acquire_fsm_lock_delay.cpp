// SPDX-License-Identifier: Apache-2.0
// The delay after a loss, in the acquire machine. core/lock_delay.h explains the markers.
//
// A contender with a lock delay creates its delay marker before it is granted (marking), once for
// each znode. A contender that is first by a list looks for orphaned markers: those of lost
// holders. It waits until each of them has been known for its length (delaying). Then it deletes
// them (clearing) and lists again.
//
// At the gate, markers are ignored: the delay concerns the lock. There is one exception. If the own
// sequence number is unusable, the first contender clears them there too. The path must be deleted
// in that case, and it cannot be deleted while it has children.
//
// A grant without a list overlooks no orphaned marker. A contender that is alone has counted the
// children, and markers are children. A holder that announces its release found no orphaned marker
// at its own grant, and deletes its own marker in the transaction of the release.
#include <utility>

#include "zklock/core/acquire_fsm.h"

namespace zklock::core {

// ---- the own delay marker -----------------------------------------------------------------------

bool AcquireFsm::needs_marker() const noexcept {
  return policy_.rule.access == Access::exclusive && policy_.lock_delay.count() > 0;
}

AcquireEffects AcquireFsm::mark() {
  state_ = AcquireState::marking;
  std::string& marker = rare_.write().delay_markers.own;
  marker = DelayMarker::make(policy_.lock_delay, node_.token(), node_.sequence()).name;
  return {effect(Kind::mark, marker)};
}

AcquireEffects AcquireFsm::handle_marked(const DoneAnswer& answer, bool lease_valid) {
  if (node_.is_deleted() || answer.status == Status::no_node) return node_lost(Errc::node_deleted);
  // It exists if a reply was lost: no other contender's marker has this token.
  if (answer.status != Status::ok && answer.status != Status::node_exists)
    return handle_failure(answer.status, answer.detail);
  rare_.write().delay_markers.is_own_created = true;
  return become_first(lease_valid);
}

std::string AcquireFsm::take_delay_marker() {
  return delay_markers().has_own() ? std::exchange(rare_.write().delay_markers.own, {})
                                   : std::string();
}

// ---- the markers of lost holders ----------------------------------------------------------------

/// The list shows it first. The list may have orphaned delay markers.
AcquireEffects AcquireFsm::become_first_by_list(std::span<const std::string> children,
                                                Decision decision, bool lease_valid) {
  if (node_.at_gate() && node_.has_usable_number()) return move();
  auto orphans = core::orphans(children);
  if (orphans.empty()) return become_first(lease_valid);
  rare_.write().delay_markers.orphans = std::move(orphans);
  predecessors_.set(std::move(decision));
  state_ = AcquireState::delaying;
  return {{.kind = Kind::delay}};
}

AcquireEffects AcquireFsm::on_delay_over() {
  const InvariantCheck check(*this);
  return state_ == AcquireState::delaying ? clear_next() : AcquireEffects{};
}

/// Deletes one marker at a time. Another contender may delete it first: that is no failure.
AcquireEffects AcquireFsm::clear_next() {
  if (delay_markers().orphans.empty()) return list();
  state_ = AcquireState::clearing;
  return {effect(Kind::clear, delay_markers().orphans.back().name)};
}

AcquireEffects AcquireFsm::handle_cleared(const DoneAnswer& answer) {
  if (node_.is_deleted()) return node_lost(Errc::node_deleted);
  // "no node" may also mean that the own znode is deleted: the next list shows it.
  if (answer.status != Status::ok && answer.status != Status::no_node)
    return handle_failure(answer.status, answer.detail);
  rare_.write().delay_markers.orphans.pop_back();
  return clear_next();
}

}  // namespace zklock::core
