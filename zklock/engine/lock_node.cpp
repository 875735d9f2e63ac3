// SPDX-License-Identifier: Apache-2.0
#include "zklock/engine/lock_node.h"

#include <algorithm>
#include <chrono>
#include <exception>
#include <utility>

#include "zklock/client/port/submit_then_get.h"

namespace zklock::detail {

using core::AcquireState;
using core::Status;
namespace request = client::request;

LockNode::LockNode(std::shared_ptr<PathQueue> path, Requester requester,
                   core::AcquireFsm::Policy policy)
    : path_(std::move(path)),
      requester_(std::move(requester)),
      fsm_(core().attempt_prefix().c_str(), core().next_attempt(), std::move(policy)) {}

LockNode::~LockNode() {
  if (is_enlisted_) core().keeper().dismiss(*this);
}

// ---- driving the machine ------------------------------------------------------------------------

template <class Step>
auto LockNode::on_reply(Step step) {
  return [self = shared_from_this(), step](const auto&... replies) {
    const Monitor::Lock lock(self->path_->monitor());
    self->run(step(*self, replies...));
  };
}

void LockNode::start() {
  core().keeper().enlist(*this);
  is_enlisted_ = true;
  run(fsm_.start(path_->counter_has_ended()));
}

void LockNode::run(core::AcquireEffects effects) {
  for (const Effect& effect : effects) carry_out(effect);
  const bool asks = fsm_.state() == AcquireState::enqueuing && !fsm_.has_node();
  if (!asks && fsm_.state() != AcquireState::making_parents && std::exchange(let_through_, false)) {
    path_->create_limiter().passed();
  }
  if (fsm_.has_ended()) machine_ended();
}

void LockNode::carry_out(const Effect& effect) {
  const std::string& path = path_->path().str();
  switch (effect.kind) {
    case Effect::Kind::create: create(core().scheduler().now()); return;
    case Effect::Kind::move: move(effect.text); return;
    case Effect::Kind::create_parents:
      create_id_ = submit(request::CreateParents{path}, {},
                          on_reply([](LockNode& p, const auto& r) ZKLOCK_REQUIRES(path_mutex) {
                            return p.fsm_.on_parents_created(p.status_unbound(r), r.detail);
                          }));
      return;
    case Effect::Kind::check_parent:
      submit(request::Check{path}, effect.session,
             on_reply([](LockNode& p, const auto& r) ZKLOCK_REQUIRES(path_mutex) {
               return p.fsm_.on_checked(r.status, false, r.detail);
             }));
      return;
    case Effect::Kind::check_own: check_own(effect.session); return;
    case Effect::Kind::list: list(effect.session); return;
    case Effect::Kind::seed_count:
      submit(request::Transaction{{}, {request::write::Create{count_path(), effect.text}}},
             effect.session, on_reply([](LockNode& p, const auto& r) ZKLOCK_REQUIRES(path_mutex) {
               return p.fsm_.on_count_seeded(r.status, r.detail);
             }));
      return;
    case Effect::Kind::inspect:
      submit(request::Get{path_->path().child(effect.text)}, effect.session,
             on_reply([](LockNode& p, const auto& r)
                          ZKLOCK_REQUIRES(path_mutex) { return p.inspected(r); }));
      return;
    case Effect::Kind::watch: watch_predecessor(effect); return;
    case Effect::Kind::unwatch: watches_.unwatch_predecessors(); return;
    case Effect::Kind::remove_parent:
      if (!effect.text.empty()) return make_path_anew();
      create_id_ = submit(request::Delete{path}, {},
                          on_reply([](LockNode& p, const auto& r) ZKLOCK_REQUIRES(path_mutex) {
                            return p.fsm_.on_parent_removed(p.status_unbound(r), r.detail);
                          }));
      return;
    case Effect::Kind::skip: {
      const std::string child = path_->path().child(effect.text);
      create_id_ = submit(
          request::Transaction{{}, {request::write::Create{child}, request::write::Remove{child}}},
          {}, on_reply([](LockNode& p, const auto& r) ZKLOCK_REQUIRES(path_mutex) {
            return p.fsm_.on_number_skipped(p.status_unbound(r), r.detail);
          }));
      return;
    }
    case Effect::Kind::remove_node: remove_node(effect); return;
    case Effect::Kind::mark: mark(effect); return;
    case Effect::Kind::clear: clear(effect); return;
    case Effect::Kind::delay: delay(); return;
    case Effect::Kind::pause: pause(); return;
    case Effect::Kind::abandon:
      if (!let_through_ && path_->create_limiter().withdraw(*this))
        return fsm_.on_create_withdrawn();
      core().coordinator().abandon(create_id_);
      core().coordinator().abandon(count_id_);
      core().coordinator().abandon(list_id_);
      return;
    case Effect::Kind::not_created: path_->late_creates().add(effect.session, effect.text); return;
    case Effect::Kind::grant: grant(); return;
    case Effect::Kind::fail: fail(effect.error, effect.text); return;
  }
}

client::RequestId LockNode::submit(client::Operation operation, SessionId session,
                                   client::ReplyHandler handler) {
  return core().coordinator().submit(
      {.operation = std::move(operation), .session = session, .wanted_since = wanted_since_},
      std::move(handler));
}

/// `wanted_since`: the start of the request's wait for a connection.
void LockNode::create(core::Instant wanted_since) {
  watches_.disarm_own();
  watches_.forget_predecessors();
  end_delay();
  wanted_since_ = wanted_since;
  // If it was let through already, the parent was created, or the session is new.
  if (!let_through_) let_through_ = path_->create_limiter().enter(shared_from_this());
  if (!let_through_) return;
  try {
    core::ZnodeData data = core().identify(requester_);
    data.attempt = fsm_.attempt();
    request::CreateContender create{path_->path().str(), fsm_.present_rule().prefix(),
                                    data.encode()};
    create_id_ = core().coordinator().submit(
        {.operation = std::move(create), .wanted_since = wanted_since_},
        on_reply([](LockNode& p, const auto& r) ZKLOCK_REQUIRES(path_mutex) {
          if (r.status == Status::ok) p.node_made();
          p.queued_ms_ = r.created_ms;
          const auto answer = p.answer_of(r);
          // Only a znode that is first by its number is granted before the count.
          return p.fsm_.on_created(answer, answer.first && p.lease_valid(r.session));
        }));
  } catch (...) {  // no request was sent
    let_through_ = false;
    path_->create_limiter().passed();
    throw;
  }
  try {
    count();
  } catch (const std::exception&) {  // no memory; but the create is under way
    fsm_.on_count_not_sent();
  }
  wanted_since_ = core().scheduler().now();
}

void LockNode::let_through() {
  let_through_ = true;
  create(wanted_since_);
}

void LockNode::node_made() {
  had_node_ = true;
  path_->node_made();
}

void LockNode::count() {
  if (fsm_.present_rule().shares_count()) return list({});
  if (!fsm_.counts_children()) return;
  count_id_ = submit(request::CountChildren{path_->path().str()}, {},
                     on_reply([](LockNode& p, const auto& r) ZKLOCK_REQUIRES(path_mutex) {
                       p.path_->path_seen(r);
                       return p.fsm_.on_counted({r.status, r.session, r.last_child, r.child_count},
                                                p.lease_valid());
                     }));
}

// If the sequence numbers began again, the delete of an older znode may have deleted this one. Then
// the outcome is reported as unknown, so that the machine searches for the znode.
core::CreatedAnswer LockNode::answer_of(const client::Reply& created) {
  const auto name = core::ZnodeName::parse(created.name);
  if (name) path_->counter_is_at(name->sequence);
  const bool doubtful = created.status == Status::ok && name &&
                        path_->record_own_node(name->sequence, created.token, created.session);
  const bool first = name && !doubtful && path_->sequence_hint().has_come(name->sequence);
  return {doubtful ? Status::unknown : status_unbound(created),
          created.session,
          created.name,
          created.token,
          created.detail,
          first};
}

// Each call decides how long it waits for a connection. While a call waits, the machine sees
// `throttled` instead of `not_connected`, and so sends the request again later.
core::Status LockNode::status_unbound(const client::Reply& reply) {
  const auto observer = this->observer();
  if (reply.status != Status::not_connected || (observer && !policy().wait)) return reply.status;
  if (observer && !had_node_) observer->on_unreachable(reply.detail);
  return Status::throttled;
}

// The reply to a multi has the name of the created znode, but not its stat. So the stat is
// requested after it.
void LockNode::move(const std::string& attempt) {
  core::ZnodeData data = core().identify(requester_);
  data.attempt = attempt;
  data.since_ms = queued_ms_;
  watches_.forget_own();  // this client deletes the znode: no loss
  const core::LockPath& path = path_->path();
  create_id_ = submit(
      request::Transaction{{},
                           {request::write::Remove{path.child(fsm_.own_name())},
                            request::write::Create{.path = path.child(fsm_.present_rule().prefix()),
                                                   .data = data.encode(),
                                                   .ephemeral = true,
                                                   .contender = true,
                                                   .sequential = true}}},
      fsm_.session(),
      on_reply([](LockNode& p, const client::Reply& made) ZKLOCK_REQUIRES(path_mutex) {
        if (made.status != Status::ok) return p.fsm_.on_moved(p.answer_of(made));
        p.submit(request::CountChildren{p.path_->path().child(made.name)}, made.session,
                 p.on_reply([made](LockNode& self, const client::Reply& stat)
                                ZKLOCK_REQUIRES(path_mutex) {
                                  client::Reply whole = made;
                                  // If the path was recreated meanwhile, it may be another contender's znode.
                                  const bool own = stat.status == Status::ok &&
                                                   stat.ephemeral_owner == made.session;
                                  whole.status = own ? Status::ok : Status::unknown;
                                  whole.token = stat.token;
                                  return self.fsm_.on_moved(self.answer_of(whole));
                                }));
        return core::AcquireEffects{};
      }));
}

core::AcquireEffects LockNode::inspected(const client::Reply& reply) {
  auto effects = fsm_.on_inspected(
      {reply.status, reply.data, reply.ephemeral_owner, reply.token, reply.detail});
  if (fsm_.token() == reply.token) queued_ms_ = reply.created_ms;  // it is the own znode
  if (fsm_.has_node()) {
    path_->record_own_node(fsm_.sequence(), fsm_.token(), fsm_.session());
  }
  return effects;
}

// The check proves by the quorum that a znode of this name exists. The read after it shows whether
// it is the own znode. The server executes the read after the check.
void LockNode::check_own(SessionId session) {
  const std::string path = path_->path().child(fsm_.own_name());
  client::submit_then_get(
      core().coordinator(), request::Check{path}, path, session,
      on_reply([](LockNode& p, const auto& check, const auto& get) ZKLOCK_REQUIRES(path_mutex) {
        const client::Reply& r = check.status == Status::ok ? get : check;
        return p.fsm_.on_checked(p.status_for_own(check, get), p.lease_valid(), r.detail);
      }));
}

/// Returns the status of `first`, a request that names the own znode. If the reply `get` after it
/// shows another znode of that name, returns no_node.
core::Status LockNode::status_for_own(const client::Reply& first, const client::Reply& get) const {
  if (first.status != Status::ok && first.status != Status::node_exists) return first.status;
  if (get.status != Status::ok) return get.status;
  return get.token == fsm_.token() ? first.status : Status::no_node;
}

std::string LockNode::count_path() const {
  return path_->path().child(std::string(core::count_node));
}

// Deletes and recreates the path together with the permit count. The multi is atomic, so the count
// exists at every moment. The version check fails if a call has changed the count since it was
// read. One case is not excluded: another client recreated the path in between, and the new count
// has the version that was read. The new path is no container, because the child with the count
// would prevent its deletion anyway.
void LockNode::make_path_anew() {
  create_id_ =
      submit(request::Get{count_path()}, {},
             on_reply([](LockNode& p, const auto& count) ZKLOCK_REQUIRES(path_mutex) {
               if (count.status != Status::ok)
                 return p.fsm_.on_parent_removed(p.status_unbound(count), count.detail);
               const std::string& path = p.path_->path().str();
               p.create_id_ = p.submit(
                   request::Transaction{{},
                                        {request::write::Remove{p.count_path(), count.version},
                                         request::write::Remove{path}, request::write::Create{path},
                                         request::write::Create{p.count_path(), count.data}}},
                   {}, p.on_reply([](LockNode& self, const auto& made) ZKLOCK_REQUIRES(path_mutex) {
                     return self.fsm_.on_parent_removed(self.status_unbound(made), made.detail);
                   }));
               return core::AcquireEffects{};
             }));
}

void LockNode::list(SessionId session) {
  const std::string& path = path_->path().str();
  if (!fsm_.present_rule().shares_count()) {
    const auto list = submit(request::ListChildren{path}, session,
                             on_reply([](LockNode& p, const auto& r) ZKLOCK_REQUIRES(path_mutex) {
                               return p.listed(r, client::Reply{});
                             }));
    if (session == SessionId{}) list_id_ = list;
    return;
  }
  // The count is read after the list. But a request that is never sent may be answered earlier.
  struct Look {
    std::optional<client::Reply> queue;
    std::optional<client::Reply> count;
  };
  const auto look = std::make_shared<Look>();
  const auto both = [look](LockNode& p) ZKLOCK_REQUIRES(path_mutex) {
    return look->queue && look->count ? p.listed(*look->queue, *look->count)
                                      : core::AcquireEffects{};
  };
  const auto list = submit(
      request::ListChildren{path}, session,
      on_reply([look, both](LockNode& p, const client::Reply& reply) ZKLOCK_REQUIRES(path_mutex) {
        look->queue = reply;
        return both(p);
      }));
  const auto count = submit(
      request::Get{count_path()}, session,
      on_reply([look, both](LockNode& p, const client::Reply& reply) ZKLOCK_REQUIRES(path_mutex) {
        look->count = reply;
        return both(p);
      }));
  if (session != SessionId{}) return;
  list_id_ = list;
  count_id_ = count;
}

core::AcquireEffects LockNode::listed(const client::Reply& queue, const client::Reply& count) {
  path_->path_seen(queue);
  // Only the reply to a request bound to no session has the status `not_connected`.
  auto effects = fsm_.on_listed({status_unbound(queue),
                                 queue.token,
                                 queue.children,
                                 queue.detail,
                                 {count.status, count.session, count.data, count.detail},
                                 queue.next},
                                lease_valid());
  notify_position();
  return effects;
}

void LockNode::watch_predecessor(const Effect& effect) {
  const auto& all = fsm_.watched();
  const auto which = static_cast<std::size_t>(std::ranges::find(all, effect.text) - all.begin());
  watches_.watch_predecessor(effect.text, which, effect.session);
}

void LockNode::on_predecessor_read(const std::string& node, const client::Reply& reply) {
  run(fsm_.on_watched(node, {reply.status, reply.token, reply.data, reply.detail}));
  if (fsm_.waits_for_release()) path_->announcement_awaited(fsm_.session());
}

void LockNode::on_predecessor_event(std::size_t which, request::WatchEvent event) {
  const std::string predecessor = fsm_.watched()[which];
  // On a new connection the servers set watches again by path: it may be another znode by then.
  const bool released = event == request::WatchEvent::changed && watches_.on_same_connection() &&
                        path_->believes_announcement(watches_.predecessor());
  run(released ? fsm_.on_predecessor_changed(predecessor, lease_valid())
               : fsm_.on_predecessor_deleted(predecessor));
}

// The watch event will still arrive, but it is ignored.
void LockNode::on_predecessor_released() {
  watches_.forget_predecessors();
  run(fsm_.on_predecessor_released(lease_valid()));
}

void LockNode::notify_position() {
  const AcquireState state = fsm_.state();
  const bool waits = state == AcquireState::arming || state == AcquireState::waiting ||
                     (state == AcquireState::delaying && policy().wait);
  if (!waits) return;
  if (const auto observer = this->observer()) observer->on_position(fsm_.position());
}

void LockNode::pause() {
  const auto delay =
      std::max<core::Duration>(core().keeper().timeout() / 24, std::chrono::milliseconds(10));
  core().scheduler().at(core().scheduler().now() + delay, [self = shared_from_this()] {
    const Monitor::Lock lock(self->path_->monitor());
    self->run(self->fsm_.on_resume());
  });
}

bool LockNode::lease_valid(SessionId session) {
  if (observer_.expired()) return false;
  lease_ = core().keeper().valid_lease(session);
  return lease_ != nullptr;
}

}  // namespace zklock::detail
