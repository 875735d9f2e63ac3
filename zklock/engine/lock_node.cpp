// SPDX-License-Identifier: Apache-2.0
#include "zklock/engine/lock_node.h"

#include <algorithm>
#include <cassert>
#include <chrono>

#include "zklock/core/znode_data.h"
#include "zklock/engine/contender.h"

namespace zklock::detail {

using core::AcquireState;
using core::Status;
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

client::RequestId LockNode::submit(client::Operation operation, SessionId session,
                                   client::ReplyHandler handler) {
  return context().coordinator().submit(
      {.operation = std::move(operation), .session = session, .wanted_since = wanted_since_},
      std::move(handler));
}

/// `wanted_since`: the start of the request's wait for a connection.
void LockNode::create(std::string attempt, core::Instant wanted_since) {
  watches_.disarm_own();
  watches_.forget_predecessors();
  end_delay();
  wanted_since_ = wanted_since;
  // If it was let through already, the parent was created, or the session is new.
  if (!let_through_) let_through_ = enter_create_limiter();
  if (!let_through_) return;
  const bool lists = fsm_.present_rule().shares_count();
  const bool counts = fsm_.is_counting_children() && !lists;
  const bool makes_path = path_->observed().should_create_path();
  core::ZnodeData data = context().identify(caller_);
  data.attempt = std::move(attempt);
  request::CreateContender create{path_->path().str(), fsm_.present_rule().prefix(), data.encode(),
                                  counts, makes_path};
  create_id_ = context().coordinator().submit(
      {.operation = std::move(create), .wanted_since = wanted_since_},
      on_reply([counts, makes_path](LockNode& p, const auto& r) {
        p.path_->observed().record_create(r, makes_path);
        if (r.status == Status::ok) p.node_made();
        p.create_sent_at_ =
            r.sent_at;  // even if the outcome is unknown: on_inspected() may find the znode
        p.created_ms_ = r.created_ms;
        const auto answer = p.answer_of(r);
        // Only a znode that is first by its number is granted without the count.
        auto effects = p.fsm_.on_created(answer, answer.first && p.update_lease(r.session));
        if (!counts) return effects;
        assert(r.parent || r.status != Status::ok);
        return p.on_counted(r.parent ? *r.parent : r);
      }));
  if (makes_path) path_->observed().record_path_exists();
  if (lists) list({});
  wanted_since_ = context().scheduler().now();
}

void LockNode::drop_unsent() {
  const bool waits = !let_through_ && path_->create_limiter().withdraw(fsm_.attempt().number());
  if (waits) return fsm_.on_create_withdrawn();
  context().coordinator().cancel_unsent(create_id_);
  context().coordinator().cancel_unsent(permit_count_id_);
  context().coordinator().cancel_unsent(list_id_);
}

/// Returns whether the create may be sent now. Otherwise it is sent later.
bool LockNode::enter_create_limiter() {
  return path_->create_limiter().enter(fsm_.attempt().number(), [self = shared_from_this()] {
    self->let_through_ = true;
    self->create(self->fsm_.attempt().text(), self->wanted_since_);
  });
}

void LockNode::node_made() {
  had_node_ = true;
  path_->node_made();
}

core::AcquireEffects LockNode::on_counted(const client::Reply& parent) {
  path_->observed().record_stat(parent);
  return fsm_.on_counted({parent.status, parent.session, parent.pzxid, parent.child_count},
                         update_lease());
}

// If the sequence numbers began again, the delete of an older znode may have deleted this one. Then
// the outcome is reported as unknown, so that the machine searches for the znode.
core::CreatedAnswer LockNode::answer_of(const client::Reply& created) {
  const auto name = core::ZnodeName::parse(created.name);
  if (name) path_->observed().record_sequence(name->sequence);
  if (created.status == Status::ok) saw_own_node(created);
  const bool outcome_unknown =
      created.status == Status::ok && name &&
      (path_->observed().record_own_node(name->sequence, created.token, created.session) ||
       created.sent_at <= path_->observed().recreation_noticed_at());
  const bool first = name && !outcome_unknown && path_->sequence_hint().is_first(name->sequence);
  return {outcome_unknown ? Status::unknown : retried_status(created),
          created.session,
          created.name,
          created.token,
          created.detail,
          first};
}

// Each call decides how long it waits for a connection. While a call waits, the machine sees
// `throttled` instead of `not_connected`, and so sends the request again later.
core::Status LockNode::retried_status(const client::Reply& reply) {
  const bool is_wanted = !front_.expired();
  if (reply.status != Status::not_connected || (is_wanted && !fsm_.policy().wait))
    return reply.status;
  if (is_wanted && !had_node_) notify_unreachable(reply.detail);
  return Status::throttled;
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
