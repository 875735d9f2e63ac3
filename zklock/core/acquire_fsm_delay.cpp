// SPDX-License-Identifier: Apache-2.0
// The part of the machine that is about the delay after a loss.
//
// Who may hold alone says, before it does, that it would leave a delay behind (marking); whoever
// comes first finds what was left, and waits (delaying, clearing). Where a grant needs no list,
// nothing was left: who is alone has counted the children, markers too; and a release is announced
// by who takes its own marker away with its node, and found no other when it was granted.
#include <string>
#include <utility>

#include "zklock/core/acquire_fsm.h"

namespace zklock::core {

// ---- what it leaves behind ----------------------------------------------------------------------

bool AcquireFsm::marks() const noexcept {
  return policy_.rule.access == Access::exclusive && policy_.lock_delay.count() > 0;
}

AcquireEffects AcquireFsm::mark() {
  state_ = AcquireState::marking;
  std::string& marker = doubts_.write().delay_marker;
  marker = DelayMarker::make(policy_.lock_delay, token(), own_.sequence).name;
  return {effect(Kind::mark, marker)};
}

AcquireEffects AcquireFsm::marked(Status status, bool lease_valid, std::string_view detail) {
  if (state_ != AcquireState::marking) return {};
  if (own_deleted_ || status == Status::no_node) return node_lost(Errc::node_deleted);
  // It exists where an answer was lost: nobody else makes one of this token.
  if (status != Status::ok && status != Status::node_exists) return answer_failed(status, detail);
  marked_ = true;
  return first(lease_valid);
}

std::string AcquireFsm::unmark() {
  return leaves_delay() ? std::exchange(doubts_.write().delay_marker, {}) : std::string();
}

// ---- what others have left ----------------------------------------------------------------------

/// First by a list, which may show that somebody was lost.
AcquireEffects AcquireFsm::first_of(std::span<const std::string> children, Decision decision,
                                    bool lease_valid) {
  if (at_gate() && !at_end()) return move();
  auto orphans = core::orphans(children);
  if (orphans.empty()) return first(lease_valid);
  doubts_.write().orphans = std::move(orphans);
  stand_by(std::move(decision));
  state_ = AcquireState::delaying;
  return {{.kind = Kind::delay}};
}

AcquireEffects AcquireFsm::delay_over() {
  return state_ == AcquireState::delaying ? clear_next() : AcquireEffects{};
}

AcquireEffects AcquireFsm::delay_lasts() {
  const bool ends = state_ == AcquireState::delaying && !policy_.wait;
  return ends ? end(remove_node()) : AcquireEffects{};
}

/// One at a time: somebody else may be at it too, and what is gone already is no reason to fail.
AcquireEffects AcquireFsm::clear_next() {
  if (orphans().empty()) return list();
  state_ = AcquireState::clearing;
  return {effect(Kind::clear, orphans().back().name)};
}

AcquireEffects AcquireFsm::cleared(Status status, std::string_view detail) {
  if (state_ != AcquireState::clearing) return {};
  if (own_deleted_) return node_lost(Errc::node_deleted);
  // If it is the own node that is gone, the list will tell.
  if (status != Status::ok && status != Status::no_node) return answer_failed(status, detail);
  doubts_.write().orphans.pop_back();
  return clear_next();
}

}  // namespace zklock::core
