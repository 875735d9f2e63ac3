// SPDX-License-Identifier: Apache-2.0
// The requests by which a lock node carries out the effects of its machine.
#include <cassert>

#include "zklock/client/port/submit_then_get.h"
#include "zklock/core/znode_data.h"
#include "zklock/engine/lock_node.h"

namespace zklock::detail {

using core::Status;
namespace request = client::request;

client::RequestId LockNode::submit(client::Operation operation, SessionId session,
                                   client::ReplyHandler handler) {
  return context().coordinator().submit(
      {.operation = std::move(operation), .session = session, .wanted_since = wanted_since_},
      std::move(handler));
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

// ---- the lock path ------------------------------------------------------------------------------

void LockNode::create_parents() {
  create_id_ = submit(request::CreateParents{path_->path().str()}, {},
                      on_reply([](LockNode& p, const auto& r) {
                        if (r.status == Status::ok) p.path_->knowledge().record_path_exists();
                        return p.fsm_.on_done({p.retried_status(r), r.detail});
                      }));
}

void LockNode::check_path(SessionId session) {
  submit(request::Check{path_->path().str()}, session, on_done());
}

void LockNode::remove_path() {
  create_id_ = submit(request::Delete{path_->path().str()}, {}, on_done());
}

// Deletes and recreates the path together with the permit count. The multi is atomic, so the count
// exists at every moment. The version check fails if a call has changed the count since it was
// read. One case is not excluded: another client recreated the path in between, and the new count
// has the version that was read. The new path is no container, because the child with the count
// would prevent its deletion anyway.
void LockNode::recreate_path() {
  create_id_ = submit(
      request::Get{permit_count_path()}, {}, on_reply([](LockNode& p, const auto& count) {
        if (count.status != Status::ok)
          return p.fsm_.on_done({p.retried_status(count), count.detail});
        const std::string& path = p.path_->path().str();
        p.create_id_ = p.submit(
            request::Transaction{{},
                                 {request::write::Remove{p.permit_count_path(), count.version},
                                  request::write::Remove{path}, request::write::Create{path},
                                  request::write::Create{p.permit_count_path(), count.data}}},
            {}, p.on_done());
        return core::AcquireEffects{};
      }));
}

// ---- the queue ----------------------------------------------------------------------------------

void LockNode::list(SessionId session) {
  const std::string& path = path_->path().str();
  if (!fsm_.present_rule().shares_count()) {
    const auto list = submit(
        request::ListChildren{path}, session,
        on_reply([](LockNode& p, const auto& r) { return p.on_listed(r, client::Reply{}); }));
    if (session == SessionId{}) list_id_ = list;
    return;
  }
  const auto [list, count] = client::submit_then_get(
      context().coordinator(), request::ListChildren{path}, permit_count_path(), session,
      on_reply([](LockNode& p, const auto& queue, const auto& counted) {
        return p.on_listed(queue, counted);
      }),
      wanted_since_);
  if (session != SessionId{}) return;
  list_id_ = list;
  permit_count_id_ = count;
}

core::AcquireEffects LockNode::on_listed(const client::Reply& queue, const client::Reply& count) {
  path_->knowledge().record_stat(queue);
  auto effects = fsm_.on_listed({retried_status(queue),
                                 queue.token,
                                 queue.children,
                                 queue.detail,
                                 {count.status, count.session, count.data, count.detail},
                                 queue.next_sequence},
                                update_lease());
  if (queue.status == Status::ok && fsm_.node().exists()) saw_own_node(queue);
  notify_position();
  return effects;
}

std::string LockNode::permit_count_path() const {
  return path_->path().child(std::string(core::kCountNode));
}

void LockNode::create_count(const Effect& effect) {
  submit(request::Transaction{{}, {request::write::Create{permit_count_path(), effect.text}}},
         effect.session, on_done());
}

void LockNode::inspect(const Effect& effect) {
  submit(request::Get{path_->path().child(effect.text)}, effect.session,
         on_reply([](LockNode& p, const auto& r) { return p.on_inspected(r); }));
}

core::AcquireEffects LockNode::on_inspected(const client::Reply& reply) {
  auto effects = fsm_.on_inspected(
      {reply.status, reply.data, reply.ephemeral_owner, reply.token, reply.detail});
  // A move retains the ctime of the znode at the gate.
  if (created_ms_ == 0 && fsm_.node().token() == reply.token) created_ms_ = reply.created_ms;
  if (fsm_.node().exists()) {
    saw_own_node(reply);
    path_->knowledge().record_own_node(fsm_.node().sequence(), fsm_.node().token(),
                                       fsm_.node().session());
  }
  return effects;
}

// ---- its own znode ------------------------------------------------------------------------------

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
  const bool makes_path = path_->knowledge().should_create_path();
  core::ZnodeData data = context().identify(caller_);
  data.attempt = std::move(attempt);
  request::CreateContender create{path_->path().str(), fsm_.present_rule().prefix(), data.encode(),
                                  counts, makes_path};
  create_id_ = context().coordinator().submit(
      {.operation = std::move(create), .wanted_since = wanted_since_},
      on_reply([counts, makes_path](LockNode& p, const auto& r) {
        p.path_->knowledge().record_create(r, makes_path);
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
  if (makes_path) path_->knowledge().record_path_exists();
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
  path_->knowledge().record_stat(parent);
  return fsm_.on_counted({parent.status, parent.session, parent.pzxid, parent.child_count},
                         update_lease());
}

// If the sequence numbers began again, the delete of an older znode may have deleted this one. Then
// the outcome is reported as unknown, so that the machine searches for the znode.
core::CreatedAnswer LockNode::answer_of(const client::Reply& created) {
  const auto name = core::ZnodeName::parse(created.name);
  if (name) path_->knowledge().record_sequence(name->sequence);
  if (created.status == Status::ok) saw_own_node(created);
  const bool outcome_unknown =
      created.status == Status::ok && name &&
      (path_->knowledge().record_own_node(name->sequence, created.token, created.session) ||
       created.sent_at <= path_->knowledge().recreation_noticed_at());
  const bool first = name && !outcome_unknown && path_->sequence_hint().is_first(name->sequence);
  return {outcome_unknown ? Status::unknown : retried_status(created),
          created.session,
          created.name,
          created.token,
          created.detail,
          first};
}

// The reply to a multi has the name of the created znode, but not its stat. So the stat is
// requested after it.
void LockNode::move(const std::string& attempt) {
  core::ZnodeData data = context().identify(caller_);
  data.attempt = attempt;
  data.since_ms = created_ms_;
  watches_.forget_own();  // this client deletes the znode: no loss
  const core::LockPath& path = path_->path();
  request::Transaction exchange{
      {},
      {request::write::Remove{path.child(fsm_.node().name())},
       request::write::Create{.path = path.child(fsm_.present_rule().prefix()),
                              .data = data.encode(),
                              .ephemeral = true,
                              .lock_acl = true,
                              .sequential = true}}};
  // At once: after a wait for a connection, the name may belong to another contender.
  create_id_ = context().coordinator().submit(
      {.operation = std::move(exchange),
       .session = fsm_.node().session(),
       .fail_if_disconnected = true},
      on_reply([](LockNode& p, const client::Reply& made) {
        if (made.status != Status::ok) return p.fsm_.on_created(p.answer_of(made), false);
        p.submit(request::Exists{p.path_->path().child(made.name)}, made.session,
                 p.on_reply([made](LockNode& self, const client::Reply& stat) {
                   client::Reply whole = made;
                   // If the path was recreated meanwhile, it may belong to another contender.
                   const bool own =
                       stat.status == Status::ok && stat.ephemeral_owner == made.session;
                   whole.status = own ? Status::ok : Status::unknown;
                   whole.token = stat.token;
                   return self.fsm_.on_created(self.answer_of(whole), false);
                 }));
        return core::AcquireEffects{};
      }));
}

// The check proves by the quorum that a znode of this name exists. The read after it shows whether
// it is the lock znode. The server executes the read after the check.
void LockNode::check_own(SessionId session) {
  context().keeper().on_lease_needed();
  const std::string path = path_->path().child(fsm_.node().name());
  client::submit_then_get(
      context().coordinator(), request::Check{path}, path, session,
      on_reply([](LockNode& p, const auto& check, const auto& get) {
        const client::Reply& r = check.status == Status::ok ? get : check;
        return p.fsm_.on_done({p.status_for_own(check, get), r.detail}, p.update_lease());
      }));
}

/// Returns the status of `first`, a request that names the lock znode. If the reply `get` after it
/// shows another znode of that name, returns no_node.
core::Status LockNode::status_for_own(const client::Reply& first, const client::Reply& get) const {
  if (first.status != Status::ok && first.status != Status::node_exists) return first.status;
  if (get.status != Status::ok) return get.status;
  return get.token == fsm_.node().token() ? first.status : Status::no_node;
}

}  // namespace zklock::detail
