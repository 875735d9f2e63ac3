// SPDX-License-Identifier: Apache-2.0
#include "zklock/engine/lock_node.h"

#include <algorithm>
#include <cassert>
#include <chrono>

#include "zklock/core/znode_data.h"
#include "zklock/engine/contender.h"

namespace zklock::detail {

using core::AcquireState;
namespace request = client::request;

std::shared_ptr<LockNode> LockNode::for_contender(const std::shared_ptr<PathLock>& path,
                                                  Caller caller,
                                                  const core::AcquireFsm::Policy& policy,
                                                  core::CohortPolicy cohort_policy) {
  auto shared = find_shared(*path, policy, cohort_policy);
  if (shared && shared->local_queue()->accepts(policy.wait)) return shared;
  caller.record_thread_name();
  return std::make_shared<LockNode>(path, std::move(caller), policy, cohort_policy);
}

LockNode::LockNode(std::shared_ptr<PathLock> path, Caller caller, core::AcquireFsm::Policy policy,
                   core::CohortPolicy cohort_policy)
    : path_(std::move(path)),
      caller_(std::move(caller)),
      cohort_policy_(cohort_policy),
      fsm_(context().attempt_prefix().c_str(), context().next_lock_node_number(),
           std::move(policy)) {}

LockNode::~LockNode() {
  assert(!holding_ || !holding_->needs_lease);
  context().keeper().dismiss(*this);
}

// ---- driving the machine ------------------------------------------------------------------------

void LockNode::run(core::AcquireEffects effects) {
  path_->assert_held();
  const auto self = shared_from_this();  // the contender may drop its reference
  for (Effect& effect : effects) carry_out(std::move(effect));
  const bool creates = fsm_.state() == AcquireState::enqueuing && !fsm_.node().exists();
  if (!creates && fsm_.state() != AcquireState::making_parents &&
      std::exchange(let_through_, false)) {
    path_->create_limiter().return_slot();
  }
  if (fsm_.has_ended()) machine_ended();
}

void LockNode::carry_out(Effect effect) {
  switch (effect.kind) {
    case Effect::Kind::create: return create(std::move(effect.text), context().scheduler().now());
    case Effect::Kind::move: return move(effect.text);
    case Effect::Kind::create_parents: return create_parents();
    case Effect::Kind::check_path: return check_path(effect.session);
    case Effect::Kind::check_own: return check_own(effect.session);
    case Effect::Kind::list: return list(effect.session);
    case Effect::Kind::create_count: return create_count(effect);
    case Effect::Kind::inspect: return inspect(effect);
    case Effect::Kind::watch: return watch_predecessor(effect);
    case Effect::Kind::unwatch: return watches_.unwatch_predecessors();
    case Effect::Kind::remove_path: return effect.text.empty() ? remove_path() : recreate_path();
    case Effect::Kind::remove_node: return remove_node(effect);
    case Effect::Kind::mark: return mark(effect);
    case Effect::Kind::clear: return clear(effect);
    case Effect::Kind::delay: return delay();
    case Effect::Kind::pause: return pause();
    case Effect::Kind::drop_unsent: return drop_unsent();
    case Effect::Kind::remove_late_create:
      return path_->late_creates().add(effect.session, effect.text);
    case Effect::Kind::grant: return grant();
    case Effect::Kind::fail: return fail(effect.error, effect.text);
  }
}

void LockNode::watch_predecessor(const Effect& effect) {
  const auto& all = fsm_.predecessors().nodes();
  const auto which = static_cast<std::size_t>(std::ranges::find(all, effect.text) - all.begin());
  watches_.watch_predecessor(effect.text, which, effect.session);
}

void LockNode::on_predecessor_read(const std::string& node, const client::Reply& reply) {
  run(fsm_.on_watched(node, {reply.status, reply.token, reply.data, reply.detail}));
}

void LockNode::on_predecessor_event(std::size_t which, request::WatchEvent event) {
  const std::string predecessor = fsm_.predecessors().nodes()[which];
  // A new connection sets watches again by path: the znode may be another by then.
  const bool released =
      event == request::WatchEvent::changed && watches_.is_predecessor_watch_current();
  run(released ? fsm_.on_predecessor_released(predecessor, update_lease())
               : fsm_.on_predecessor_deleted(predecessor));
}

// The watch event will still arrive, but it is ignored.
void LockNode::on_predecessor_released() {
  assert(fsm_.waits_for_announcement());
  if (fsm_.predecessors().nodes().empty()) return;
  watches_.forget_predecessors();
  run(fsm_.on_predecessor_released(fsm_.predecessors().nodes()[0], update_lease()));
}

void LockNode::pause() {
  const auto delay =
      std::max<core::Duration>(context().keeper().timeout() / 24, std::chrono::milliseconds(10));
  context().scheduler().at(context().scheduler().now() + delay,
                           under_lock(shared_from_this(), [this] { run(fsm_.on_pause_over()); }));
}

bool LockNode::update_lease(SessionId session) {
  if (front_.expired()) return false;
  auto lease = context().keeper().lease_for_grant(session);
  if (!lease) return false;
  lease_ = std::move(lease);
  return true;
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
  if (fsm_.node().exists() && path_->knowledge().is_stale(fsm_.node().token()))
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

// ---- its znode ----------------------------------------------------------------------------------

LockNode::Names LockNode::own_names() const {
  if (is_name_unknown()) return {fsm_.node().name(), holding_->downgrade.name()};
  return {own_name()};
}

std::string LockNode::data_as_reader() const {
  core::ZnodeData data = context().identify(caller_);
  data.attempt = fsm_.attempt().text();
  data.token = fsm_.node().token().zxid;
  data.since_ms = created_ms_;
  return data.encode();
}

bool LockNode::is_own(const client::Reply& node) const {
  if (node.is_without_stat()) return node.parent && is_path_of_own_znode(*node.parent);
  return has_downgraded() ? holding_->downgrade.is_own_reader_node(node)
                          : node.token == fsm_.node().token();
}

bool LockNode::is_path_of_own_znode(const client::Reply& path) const {
  return path.token < fsm_.node().token();
}

}  // namespace zklock::detail
