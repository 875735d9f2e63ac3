// SPDX-License-Identifier: Apache-2.0
// The contenders of a lock node, its events, and its end.
#include <algorithm>
#include <cassert>

#include "zklock/core/znode_data.h"
#include "zklock/engine/contender.h"
#include "zklock/engine/lock_node.h"

namespace zklock::detail {

// ---- the contenders -----------------------------------------------------------------------------

bool LockNode::agrees(const core::AcquireFsm::Policy& policy,
                      const core::CohortPolicy& cohort_policy) const noexcept {
  const core::AcquireFsm::Policy& own = fsm_.policy();
  return cohort_policy == cohort_policy_ && policy.queue_again == own.queue_again &&
         policy.lock_delay == own.lock_delay && policy.rule == own.rule;
}

std::shared_ptr<LockNode> LockNode::find_shared(const PathLock& path,
                                                const core::AcquireFsm::Policy& policy,
                                                const core::CohortPolicy& cohort_policy) {
  for (const auto& node : path.shared_nodes()) {
    if (node->agrees(policy, cohort_policy)) return node;
  }
  return nullptr;
}

void LockNode::set_front(const std::shared_ptr<Contender>& contender) noexcept {
  front_ = contender;
}

void LockNode::begin_local_queue(LocalQueue::Waiters behind) {
  local_queue_ = std::make_unique<LocalQueue>(*this, cohort_policy_, std::move(behind));
  path_->add_shared_node(shared_from_this());
}

LocalQueue::Waiters LockNode::end_local_queue() {
  assert(local_queue() != nullptr);
  path_->remove_shared_node(*this);
  return local_queue_->end();
}

void LockNode::admit(const std::shared_ptr<Contender>& contender, const Caller& caller) {
  path_->assert_held();
  const auto self = shared_from_this();  // the contender may get another lock node
  if (local_queue() != nullptr) return local_queue()->admit(contender, caller);
  start(contender, nullptr);
}

void LockNode::start(const std::shared_ptr<Contender>& first, LocalQueue::Waiters* behind) {
  set_front(first);
  if (cohort_policy_.batch > 1 && first->waits()) {
    begin_local_queue(behind != nullptr ? std::exchange(*behind, {}) : LocalQueue::Waiters{});
    for (const LocalQueue::Waiting& each : local_queue_->behind()) {
      each.contender->set_lock_node(shared_from_this());
    }
  }
  context().keeper().enlist(*this);
  run(fsm_.start(path_->observed().counter_has_ended()));
}

void LockNode::requeue(LocalQueue::Waiters waiters) {
  while (!waiters.empty()) {
    const auto [first, caller] = std::move(waiters.front());
    waiters.pop_front();
    core::AcquireFsm::Policy policy = fsm_.policy();
    policy.wait = first->waits();
    policy.always_list = first->has_listener();
    policy.count_children = !path_->omits_count();
    const auto node = std::make_shared<LockNode>(path_, caller, std::move(policy), cohort_policy_);
    first->set_lock_node(node);
    node->start(first, &waiters);
  }
}

void LockNode::leave(const Contender& contender) {
  path_->assert_held();
  const auto self = shared_from_this();  // the path may have had the last reference
  if (local_queue() != nullptr) {
    if (local_queue()->leave(contender) || local_queue()->replace_front()) return;
    end_local_queue();  // no other contender is behind
  }
  core::AcquireEffects effects = fsm_.withdraw();
  abandon();
  run(std::move(effects));
}

void LockNode::abandon() {
  front_.reset();
  if (!fsm_.has_ended()) work_ = context().work().begin();
}

void LockNode::close() {
  const auto self = shared_from_this();  // the path may have had the last reference
  if (local_queue() != nullptr) end_local_queue();
  front_.reset();
  end_watches();
}

// There is a contender: update_lease() is false without one.
void LockNode::grant() {
  holding_ = std::make_unique<Holding>(*this);
  holding_->since = context().scheduler().now();
  context().keeper().hold_began();
  path_->observed().record_grant(fsm_.predecessors().has_waited());
  front()->on_granted(holding_->since);
  if (may_feed_sequence_hint())
    path_->sequence_hint().on_granted(fsm_.node().sequence(), holding_->since);
}

std::uint64_t LockNode::count_grant() {
  const bool begins = !local_queue_ && cohort_policy_.shares() &&
                      !find_shared(*path_, fsm_.policy(), cohort_policy_);
  if (begins) begin_local_queue({});
  return local_queue() != nullptr ? local_queue()->on_grant() : 0;
}

void LockNode::fail(Errc error, const std::string& cause) {
  const auto failed = front();
  const LocalQueue::Waiters behind =
      local_queue() != nullptr ? end_local_queue() : LocalQueue::Waiters{};
  if (failed) failed->on_failed(error, cause);
  for (const LocalQueue::Waiting& each : behind) each.contender->on_failed(error, cause);
  if (failed && !fsm_.has_ended()) abandon();
}

// The machine has ended without a grant: its znode is deleted or being deleted.
void LockNode::machine_ended() {
  end_watches();
  const auto work = std::exchange(work_, {});
  if (work != BackgroundWork::Id{}) context().work().end(work);
  const auto ended = std::exchange(front_, {}).lock();
  requeue_behind();
  if (ended) ended->on_ended();
}

void LockNode::notify_position() {
  const core::AcquireState state = fsm_.state();
  const bool waits = state == core::AcquireState::arming || state == core::AcquireState::waiting ||
                     (state == core::AcquireState::delaying && fsm_.policy().wait);
  if (!waits) return;
  const std::size_t position = fsm_.predecessors().position();
  if (const auto first = front()) first->on_position(position);
  if (local_queue() != nullptr) local_queue()->on_position(position);
}

void LockNode::notify_unreachable(const std::string& cause) {
  std::vector<std::shared_ptr<Contender>> all;  // a copy: a contender that gives up leaves
  if (local_queue() != nullptr) {
    for (const LocalQueue::Waiting& each : local_queue()->behind()) all.push_back(each.contender);
  }
  if (auto first = front()) all.push_back(std::move(first));
  for (const auto& each : all) each->on_unreachable(cause);
}

// ---- events of the session and of the znode -----------------------------------------------------

void LockNode::on_lease_event(LeaseEvent& event) {
  const auto self = shared_from_this();  // the contender may drop its reference
  const auto holder = front();
  const bool is_its_session = event.session == fsm_.node().session();
  switch (event.kind) {
    case LeaseEvent::Kind::session_ended: on_session_ended(event.session); break;
    case LeaseEvent::Kind::lease_expired: on_lease_expired(event.lease); break;
    case LeaseEvent::Kind::suspended:
      if (holder && is_its_session) holder->on_suspended();
      break;
    case LeaseEvent::Kind::resumed:
      if (holder && is_its_session) holder->on_resumed();
      break;
    case LeaseEvent::Kind::tick:
      path_->on_tick(event.tick);
      on_tick(event.requests);
      break;
    case LeaseEvent::Kind::closed: end_watches(); break;
  }
  assert((path_->assert_invariants(), true));
}

void LockNode::on_session_ended(SessionId session) {
  if (!is_granted()) return run(fsm_.on_session_ended(session));
  if (session == fsm_.node().session()) lose(LossReason::session_expired);
}

void LockNode::on_lease_expired(const std::shared_ptr<core::Lease>& lease) {
  if (is_granted() && lease == lease_) lose(context().keeper().reason_of_lapse(lease->session()));
}

void LockNode::lose(LossReason why) {
  path_->assert_held();
  if (const auto holder = front()) return holder->lose(why);
  if (!is_idle()) return;
  remove(why == LossReason::lease_expired ? RemovalCause::lapse_without_holder
                                          : RemovalCause::already_deleted);
}

void LockNode::on_tick(int& requests) {
  path_->assert_held();
  const bool is_used = !front_.expired() || is_idle();
  if (!fsm_.node().exists() || !is_used || has_ended_) return;
  if (!is_granted()) {
    if (requests > 0 && watch_own()) --requests;
    return;
  }
  watch_own();
  watches_.watch_release_requests();
  if (local_queue() != nullptr) local_queue()->on_tick();  // may end the lock node
  if (requests > 0 && !has_ended_ && mark_hold()) --requests;
}

bool LockNode::watch_own() {
  return is_name_settled() && watches_.watch_own();
}

void LockNode::on_own_node_deleted() {
  path_->assert_held();
  if (!fsm_.node().exists()) return;
  if (!is_granted()) return run(fsm_.on_own_node_deleted());
  const auto self = shared_from_this();  // the contender may drop its reference
  lose(LossReason::node_deleted);
  // A downgrade that was in flight when the path was deleted can create the reader's znode in the
  // recreated path.
  const bool may_exist = is_name_unknown() || has_downgraded();
  const bool has_siblings =
      holding_ && (!holding_->siblings.empty() || holding_->marker.may_exist());
  if (may_exist || has_siblings) remove(RemovalCause::loss);
}

void LockNode::on_path_recreated() {
  if (fsm_.node().exists() && path_->observed().is_stale(fsm_.node().token()))
    on_own_node_deleted();
}

void LockNode::on_release_requested(bool force) {
  path_->assert_held();
  const auto self = shared_from_this();  // the contender may drop its reference
  if (const auto holder = front()) holder->on_release_requested(force);
  if (local_queue() != nullptr) local_queue()->on_release_requested();
}

/// Returns whether SequenceHint may use the grants of this lock node: it is a mutex that waits,
/// predicts, and creates no marker.
bool LockNode::may_feed_sequence_hint() const noexcept {
  const core::AcquireFsm::Policy& policy = fsm_.policy();
  const bool guesses = policy.wait && !policy.always_list;
  return is_mutex() && guesses && policy.lock_delay.count() == 0;
}

// ---- the release --------------------------------------------------------------------------------

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
  return fsm_.predecessors().has_waited() || path_->observed().was_contended() || held_for() >= way;
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
      cause != RemovalCause::already_deleted && !path_->observed().is_stale(fsm_.node().token());
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
      is_name_unknown() || is_unseen() || path_->observed().is_stale(fsm_.node().token());
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
