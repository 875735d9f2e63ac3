// SPDX-License-Identifier: Apache-2.0
// The watches on the predecessors, in the acquire machine.
//
// Each predecessor is read and watched (arming). If the data or the czxid of one shows that the
// last list is outdated, or if one is deleted meanwhile, the contender lists again. Otherwise it
// waits for an event. If its only predecessor announces its release, that release is a grant.
#include <utility>

#include "zklock/core/acquire_fsm.h"

namespace zklock::core {

AcquireEffects AcquireFsm::arm(Decision decision) {
  predecessors_.set(std::move(decision));
  if (present_rule().shares_count()) predecessors_.add_permit_count();
  return watch_all();
}

AcquireEffects AcquireFsm::watch_all() {
  predecessors_.begin_watching();
  state_ = AcquireState::arming;
  AcquireEffects effects;
  for (const std::string& node : predecessors_.nodes())
    effects.push_back(effect(Kind::watch, node));
  return effects;
}

AcquireEffects AcquireFsm::drop_watches_then(AcquireEffects next) {
  if (predecessors_.drop_watches()) next.insert(next.begin(), {.kind = Kind::unwatch});
  return next;
}

AcquireEffects AcquireFsm::on_watched(std::string_view node, const WatchedAnswer& answer) {
  const InvariantCheck check(*this);
  if (state_ != AcquireState::arming || !predecessors_.contain(node)) return {};
  predecessors_.on_watched(node, answer, node_, policy_.rule.total);
  if (!predecessors_.has_all_replies()) return {};
  if (predecessors_.status() != Status::ok) {
    return drop_watches_then(handle_failure(predecessors_.status(), predecessors_.detail()));
  }
  if (predecessors_.is_list_outdated()) return drop_watches_then(list());
  predecessors_.begin_waiting();
  state_ = AcquireState::waiting;
  return node_.is_deleted() ? node_lost(Errc::node_deleted) : AcquireEffects{};
}

AcquireEffects AcquireFsm::on_predecessor_released(std::string_view node, bool lease_valid) {
  const InvariantCheck check(*this);
  if (!waits_for_announcement() || !predecessors_.contain(node))
    return on_predecessor_deleted(node);
  // Only its creator can announce the release of such a znode, and only if it has held.
  predecessors_.drop_watches();  // the only one has fired, or its event will be ignored
  return become_first(lease_valid);
}

AcquireEffects AcquireFsm::on_predecessor_deleted(std::string_view node) {
  const InvariantCheck check(*this);
  // Otherwise the event is of an earlier watch that was removed too late.
  if (!predecessors_.on_event(node)) return {};
  return state_ == AcquireState::waiting ? drop_watches_then(list()) : AcquireEffects{};
}

}  // namespace zklock::core
