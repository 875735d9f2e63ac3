// SPDX-License-Identifier: Apache-2.0
// The watches on the predecessors, in the acquire machine.
//
// Each predecessor is read and watched (arming). If the data or the czxid of one shows that the
// last list is outdated, or if one is deleted meanwhile, the contender lists again. Otherwise it
// waits for an event. If its only predecessor announces its release, that release is a grant.
#include <algorithm>
#include <cassert>
#include <string>
#include <utility>

#include "zklock/core/acquire_fsm.h"
#include "zklock/core/znode_data.h"

namespace zklock::core {

void AcquireFsm::store_decision(Decision decision) {
  watched_ = Few<std::string>(std::move(decision.watch));
  grant_by_release_ = decision.grant_by_release ? GrantByRelease::if_announced : GrantByRelease::no;
  position_ = decision.position;
}

AcquireEffects AcquireFsm::arm(Decision decision) {
  store_decision(std::move(decision));
  if (present_rule().shares_count()) watched_.push_back(std::string(kCountNode));
  list_outdated_ = false;
  return watch_all();
}

AcquireEffects AcquireFsm::watch_all() {
  if (grant_by_release_ == GrantByRelease::yes) grant_by_release_ = GrantByRelease::if_announced;
  outstanding_watches_ = static_cast<std::int32_t>(watched_.size());
  arming_status_ = Status::ok;
  state_ = AcquireState::arming;
  AcquireEffects effects;
  for (const std::string& node : watched_) effects.push_back(effect(Kind::watch, node));
  return effects;
}

bool AcquireFsm::watches(std::string_view node) const noexcept {
  return std::ranges::find(watched_, node) != watched_.end();
}

// Returns false if `node` has a lower sequence number but a newer zxid than the own znode. Then the
// path was recreated, or one of the two was made by hand.
bool AcquireFsm::is_order_consistent(std::string_view node, FencingToken token) const noexcept {
  const auto other = parse_znode_name(node);
  return token <= this->token() || !other || own_.sequence <= other->sequence;
}

// A watch that failed or fired does not remain, but other watches may.
AcquireEffects AcquireFsm::drop_watches_then(AcquireEffects next) {
  if (std::exchange(active_watches_, 0) > 0) next.insert(next.begin(), {.kind = Kind::unwatch});
  return next;
}

AcquireEffects AcquireFsm::on_watched(std::string_view node, const WatchedAnswer& answer) {
  const InvariantCheck check(*this);
  if (state_ != AcquireState::arming || !watches(node)) return {};
  if (answer.status == Status::ok) {
    ++active_watches_;
    if (node == kCountNode) list_outdated_ |= parse_permit_count(answer.data) != policy_.rule.all;
    const auto parsed = ZnodeData::parse(answer.data);
    const bool is_consistent = is_order_consistent(node, queue_zxid(parsed, answer.token));
    if (!is_consistent && !std::ranges::count(rare_->confirmed_newer_predecessors, answer.token)) {
      list_outdated_ = true;
      rare_.write().newer_predecessors.push_back(answer.token);
    }
    if (grant_by_release_ == GrantByRelease::if_announced && is_consistent && parsed &&
        parsed->announces) {
      grant_by_release_ = GrantByRelease::yes;
    }
  } else if (answer.status == Status::no_node) {
    list_outdated_ = true;
  } else if (arming_status_ == Status::ok) {
    arming_status_ = answer.status;
    rare_.write().detail = answer.detail;
  }
  if (--outstanding_watches_ > 0) return {};
  if (arming_status_ != Status::ok) {
    return drop_watches_then(handle_failure(arming_status_, rare_->detail));
  }
  if (list_outdated_) return drop_watches_then(list());
  state_ = AcquireState::waiting;
  has_waited_ = true;
  return own_node_deleted_ ? node_lost(Errc::node_deleted) : AcquireEffects{};
}

AcquireEffects AcquireFsm::on_predecessor_changed(std::string_view node, bool lease_valid) {
  const InvariantCheck check(*this);
  // Only its creator can write such a znode, and only to announce that it held and released.
  if (waits_for_release() && watches(node)) return on_predecessor_released(lease_valid);
  return on_predecessor_deleted(node);
}

AcquireEffects AcquireFsm::on_predecessor_released(bool lease_valid) {
  const InvariantCheck check(*this);
  assert(waits_for_release());
  active_watches_ = 0;  // a contender that waits for a release has one watch only
  return become_first(lease_valid);
}

AcquireEffects AcquireFsm::on_predecessor_deleted(std::string_view node) {
  const InvariantCheck check(*this);
  // Otherwise the event is of an earlier watch that was removed too late.
  if (active_watches_ == 0 || !watches(node)) return {};
  --active_watches_;
  list_outdated_ = true;
  return state_ == AcquireState::waiting ? drop_watches_then(list()) : AcquireEffects{};
}

}  // namespace zklock::core
