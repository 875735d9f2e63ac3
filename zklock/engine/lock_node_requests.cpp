// SPDX-License-Identifier: Apache-2.0
// The requests by which a lock node carries out the effects of its machine, except the create.
#include "zklock/client/port/submit_then_get.h"
#include "zklock/core/znode_data.h"
#include "zklock/engine/lock_node.h"

namespace zklock::detail {

using core::Status;
namespace request = client::request;

// ---- the lock path ------------------------------------------------------------------------------

void LockNode::create_parents() {
  create_id_ = submit(request::CreateParents{path_->path().str()}, {},
                      on_reply([](LockNode& p, const auto& r) {
                        if (r.status == Status::ok) p.path_->observed().record_path_exists();
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
  path_->observed().record_stat(queue);
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
    path_->observed().record_own_node(fsm_.node().sequence(), fsm_.node().token(),
                                      fsm_.node().session());
  }
  return effects;
}

// ---- its own znode ------------------------------------------------------------------------------

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
