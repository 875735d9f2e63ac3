// SPDX-License-Identifier: Apache-2.0
// The end of a lock node: how its znode is deleted, and whether that is announced.
#include <algorithm>
#include <cassert>
#include <utility>
#include <vector>

#include "zklock/engine/lock_node.h"

namespace zklock::detail {

void LockNode::end_watches() {
  path_->assert_held();
  context().keeper().dismiss(*this);
  end_delay();
  has_ended_ = true;
  if (holding_) {
    if (std::exchange(holding_->needs_lease, false)) context().keeper().hold_ended();
    holding_->downgrade.end_hold();
  }
  watches_.disarm();
}

// The znode of a mutex stays, because Curator's mutexes would not wait for a reader's znode.
void LockNode::downgrade() {
  const bool left_delay = fsm_.delay_markers().has_own();
  cancel_lock_delay();
  if (fsm_.policy().rule.is_writer()) return holding_->downgrade.begin();
  if (left_delay) remove_unwanted_delay_marker();
}

void LockNode::delete_with_node(std::string path) {
  auto& paths = holding_->siblings;
  if (std::ranges::find(paths, path) == paths.end()) paths.push_back(std::move(path));
}

std::vector<Cleaner::Sibling> LockNode::take_siblings() {
  std::vector<Cleaner::Sibling> siblings;
  if (holding_) {
    for (std::string& path : std::exchange(holding_->siblings, {})) {
      siblings.push_back({std::move(path), fsm_.node().token()});
    }
  }
  if (auto hold_marker = take_hold_marker()) siblings.push_back(*std::move(hold_marker));
  const std::string marker = take_unwanted_delay_marker();
  if (!marker.empty()) siblings.push_back({path_->path().child(marker)});
  return siblings;
}

/// If no recent grant had to wait, and the hold was shorter than its acquire, probably no contender
/// waits. Then the release is not announced, which saves a write. A contender that waits
/// nevertheless lists the children.
bool LockNode::may_be_awaited() const {
  const core::Duration way =
      std::min(holding_->since - wanted_since_, context().keeper().timeout() / 20);
  return fsm_.predecessors().has_waited() || path_->knowledge().was_contended() ||
         held_for() >= way;
}

// The znodes that are deleted with the lock znode must be deleted before the next grant. So must
// its own znode, if a transaction of the user may check it. But no contender reads the hold marker.
std::shared_ptr<LockNode> LockNode::session_successor() const {
  const bool goes_alone = !fsm_.delay_markers().has_own() && holding_->siblings.empty();
  if (!is_mutex() || !goes_alone || holding_->is_exposed) return nullptr;
  auto next = path_->session_handoff().successor_of(fsm_.node().token());
  return next && next->fsm_.waits_for_announcement() ? next : nullptr;
}

void LockNode::remove(RemovalCause cause, BackgroundWork::Id work) {
  path_->assert_held();
  const auto self = shared_from_this();  // the path may have had the last reference
  if (cause != RemovalCause::unfinished_release && cause != RemovalCause::loss) cancel_lock_delay();
  if (cause == RemovalCause::already_deleted) remove_unwanted_delay_marker(work);
  // If the path was recreated, the name may belong to another znode now. If the name is in doubt,
  // both names are read, and the lock znode is deleted. It is found even if an unanswered request
  // creates it, because the reads are executed after that request.
  const bool exists =
      cause != RemovalCause::already_deleted && !path_->knowledge().is_stale(fsm_.node().token());
  if (exists || is_name_unknown() || has_downgraded()) {
    watches_.forget_own();
    const Names names = own_names();
    // Only a downgrade has two names. So on_removed() reports one delete at most.
    assert(names.size() < 2 || !is_mutex());
    for (const std::string& name : names) {
      context().cleaner().remove(fsm_.node().session(),
                                 {.path = path_->child(name),
                                  .token = fsm_.node().token(),
                                  .siblings = take_siblings(),
                                  .is_downgraded = has_downgraded() || name != fsm_.node().name()},
                                 first_step_for(cause), on_removed(cause), work);
    }
  } else if (auto hold_marker = take_hold_marker()) {
    context().cleaner().remove(fsm_.node().session(), {.path = std::move(hold_marker->path)},
                               Cleaner::Step::deleting, {}, work);
  }
  end_watches();
  requeue_behind();
}

/// Returns what to call when the ensemble has confirmed the delete; may be empty.
std::function<void()> LockNode::on_removed(RemovalCause cause) const {
  const bool is_release =
      cause == RemovalCause::release || cause == RemovalCause::unannounced_release;
  if (!is_granted() || !is_release || !is_mutex()) return {};
  return path_->sequence_hint().on_release(fsm_.node().sequence(), fsm_.node().token());
}

// A release is announced only if a successor can rely on it: see Decision::grant_by_release.
Cleaner::Step LockNode::first_step_for(RemovalCause cause) const {
  const bool may_be_anothers =
      is_name_unknown() || is_unseen() || path_->knowledge().is_stale(fsm_.node().token());
  if (may_be_anothers) return Cleaner::Step::looking;
  switch (cause) {
    case RemovalCause::release: {
      const bool is_followed = fsm_.policy().rule.access == Access::exclusive && !has_downgraded();
      const bool announces = context().settings().announces && is_followed && may_be_awaited();
      return announces ? Cleaner::Step::announcing : Cleaner::Step::deleting;
    }
    case RemovalCause::unannounced_release:
    case RemovalCause::unfinished_release: return Cleaner::Step::deleting;
    case RemovalCause::loss:
    case RemovalCause::lapse_without_holder:
    case RemovalCause::already_deleted: return Cleaner::Step::looking;
  }
  return Cleaner::Step::looking;
}

// `effect` names a delay marker or the lock znode. A delay marker has a unique name, so its czxid
// need not be checked.
void LockNode::remove_node(const Effect& effect) {
  watches_.forget_own();
  Cleaner::Node node{.path = path_->child(effect.text)};
  if (!core::DelayMarker::parse(effect.text)) node.token = fsm_.node().token();
  if (!effect.sibling.empty()) node.siblings.push_back({path_->child(effect.sibling)});
  const bool looks = effect.reads_first || (is_unseen() && node.token != FencingToken{});
  const auto first_step = looks ? Cleaner::Step::looking : Cleaner::Step::deleting;
  context().cleaner().remove(effect.session, std::move(node), first_step, {}, work_);
}

}  // namespace zklock::detail
