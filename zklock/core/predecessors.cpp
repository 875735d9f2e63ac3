// SPDX-License-Identifier: Apache-2.0
#include "zklock/core/predecessors.h"

#include <algorithm>
#include <iterator>
#include <utility>

#include "zklock/core/child_nodes.h"
#include "zklock/core/znode_data.h"

namespace zklock::core {

namespace {

// Returns false if `node` has a lower sequence number but a newer zxid than its own znode. Then the
// path was recreated, or one of the two was made by hand.
bool is_order_consistent(std::string_view node, FencingToken token, const OwnNode& own) noexcept {
  const auto other = parse_znode_name(node);
  return token <= own.token() || !other || own.sequence() <= other->sequence;
}

}  // namespace

bool Predecessors::contain(std::string_view node) const noexcept {
  return std::ranges::find(nodes_, node) != nodes_.end();
}

void Predecessors::set(Decision decision) {
  nodes_.assign(std::move_iterator(decision.watch.begin()),
                std::move_iterator(decision.watch.end()));
  grant_by_release_ = decision.grant_by_release ? GrantByRelease::if_announced : GrantByRelease::no;
  position_ = decision.position;
  is_list_outdated_ = false;
}

void Predecessors::add_permit_count() {
  nodes_.push_back(std::string(kCountNode));
}

void Predecessors::on_listed() {
  if (!rare_->newer.empty()) rare_.write().confirmed_newer = rare_->newer;
}

void Predecessors::begin_watching() noexcept {
  if (grant_by_release_ == GrantByRelease::yes) grant_by_release_ = GrantByRelease::if_announced;
  outstanding_watches_ = static_cast<std::int32_t>(nodes_.size());
  status_ = Status::ok;
}

void Predecessors::on_watched(std::string_view node, const WatchedAnswer& answer,
                              const OwnNode& own, std::int32_t permits) {
  if (answer.status == Status::ok) {
    ++active_watches_;
    if (node == kCountNode) is_list_outdated_ |= parse_permit_count(answer.data) != permits;
    const auto parsed = ZnodeData::parse(answer.data);
    const bool is_consistent = is_order_consistent(node, queue_zxid(parsed, answer.token), own);
    if (!is_consistent && !std::ranges::count(rare_->confirmed_newer, answer.token)) {
      is_list_outdated_ = true;
      rare_.write().newer.push_back(answer.token);
    }
    if (grant_by_release_ == GrantByRelease::if_announced && is_consistent && parsed &&
        parsed->announces) {
      grant_by_release_ = GrantByRelease::yes;
    }
  } else if (answer.status == Status::no_node) {
    is_list_outdated_ = true;
  } else if (status_ == Status::ok) {
    status_ = answer.status;
    rare_.write().detail = answer.detail;
  }
  --outstanding_watches_;
}

bool Predecessors::on_event(std::string_view node) noexcept {
  if (active_watches_ == 0 || !contain(node)) return false;
  --active_watches_;
  is_list_outdated_ = true;
  return true;
}

bool Predecessors::drop_watches() noexcept {
  return std::exchange(active_watches_, 0) > 0;
}

bool Predecessors::is_consistent_with(AcquireState state) const noexcept {
  const auto all = static_cast<std::int32_t>(nodes_.size());
  if (active_watches_ < 0) return false;
  if (state == AcquireState::arming) {
    return outstanding_watches_ > 0 && active_watches_ + outstanding_watches_ <= all;
  }
  if (state == AcquireState::waiting) {
    return has_waited_ && active_watches_ == all &&
           (grant_by_release_ == GrantByRelease::no || all == 1);
  }
  return active_watches_ == 0;
}

}  // namespace zklock::core
