// SPDX-License-Identifier: Apache-2.0
#include "zklock/recipes/contender.h"

#include <algorithm>
#include <chrono>
#include <utility>

#include "zklock/core/node_name.h"

namespace zklock::recipes {

using core::AcquireState;
using core::Ownership;
namespace request = client::request;

Contender::Contender(std::shared_ptr<LockEngine> engine, Owner key, Owner owner,
                     core::AcquireFsm::Policy policy, std::shared_ptr<LockLine> listener)
    : engine_(std::move(engine)),
      key_(key),
      owner_(owner),
      policy_(std::move(policy)),
      identity_(engine_->core().identify(owner)),
      events_(std::move(listener), engine_->path().str(), owner),
      fsm_(engine_->core().next_attempt(), policy_) {}

Contender::~Contender() = default;

// ---- driving the machine ------------------------------------------------------------------------

template <class Step>
client::ReplyHandler Contender::on_reply(Step step) {
  return [self = shared_from_this(), step](const client::Reply& reply) {
    const LockEngine::Section section(*self->engine_);
    self->run(step(*self, reply));
  };
}

void Contender::start() {
  core().keeper().enlist(shared_from_this());
  run(fsm_.start());
}

void Contender::run(core::AcquireEffects effects) {
  for (const Effect& effect : effects) carry_out(effect);
  if (fsm_.over()) step_ended();
}

void Contender::carry_out(const Effect& effect) {
  const std::string& path = engine_->path().str();
  switch (effect.kind) {
    case Effect::Kind::create: create(effect.text); return;
    case Effect::Kind::create_parents:
      create_id_ =
          submit(request::CreateParents{path}, {}, on_reply([](Contender& c, const auto& r) {
                   return c.fsm_.parents_created(r.status, r.detail);
                 }));
      return;
    case Effect::Kind::check_parent:
      submit(request::Check{path}, effect.session, on_reply([](Contender& c, const auto& r) {
               return c.fsm_.checked(r.status, false, r.detail);
             }));
      return;
    case Effect::Kind::check_own: check_own(effect.session); return;
    case Effect::Kind::list: list(effect.session); return;
    case Effect::Kind::seed_count:
      submit(request::Transaction{{}, {request::write::Create{count_path(), effect.text}}},
             effect.session, on_reply([](Contender& c, const auto& r) {
               return c.fsm_.count_seeded(r.status, r.detail);
             }));
      return;
    case Effect::Kind::inspect:
      submit(request::Get{engine_->path().child(effect.text)}, effect.session,
             on_reply([](Contender& c, const auto& r) {
               c.queued_ms_ = r.created_ms;  // the last one that is inspected is its own
               return c.fsm_.inspected({r.status, r.data, r.ephemeral_owner, r.token, r.detail});
             }));
      return;
    case Effect::Kind::watch: predecessors_.watch(effect.text, effect.session); return;
    case Effect::Kind::unwatch: predecessors_.end(); return;
    case Effect::Kind::remove_parent:
      create_id_ = submit(request::Delete{path}, {}, on_reply([](Contender& c, const auto& r) {
                            return c.fsm_.parent_removed(r.status, r.detail);
                          }));
      return;
    case Effect::Kind::remove_node:
      remove_node(effect.session, effect.text, effect.companion, client::Deleter::Manner::plainly);
      return;
    case Effect::Kind::mark: mark(effect); return;
    case Effect::Kind::clear: clear(effect); return;
    case Effect::Kind::delay: delay(); return;
    case Effect::Kind::pause: pause(); return;
    case Effect::Kind::abandon:
      core().coordinator().abandon(create_id_);
      core().coordinator().abandon(count_id_);
      core().coordinator().abandon(list_id_);
      return;
    case Effect::Kind::grant: grant(); return;
    case Effect::Kind::fail: fail(effect.error, effect.text); return;
  }
}

client::RequestId Contender::submit(client::Operation operation, SessionId session,
                                    client::ReplyHandler handler) {
  return core().coordinator().submit({.operation = std::move(operation), .session = session},
                                     std::move(handler));
}

void Contender::create(const std::string& attempt) {
  core::NodeData data = identity_;
  data.attempt = attempt;
  auto& coordinator = core().coordinator();
  const std::string& path = engine_->path().str();
  own_watch_.renew();
  predecessors_.drop();
  end_delay();
  create_id_ = coordinator.submit(
      {.operation = request::CreateContender{path, policy_.rule.prefix, data.encode()}},
      on_reply([](Contender& c, const auto& r) {
        c.had_node_ = c.had_node_ || r.status == core::Status::ok;
        c.queued_ms_ = r.created_ms;
        return c.fsm_.created({r.status, r.session, r.name, r.token, r.detail});
      }));
  if (policy_.rule.shares_count()) return list({});
  count_id_ = coordinator.submit(
      {.operation = request::CountChildren{path}}, on_reply([](Contender& c, const auto& r) {
        return c.fsm_.counted({r.status, r.session, r.last_child, r.child_count}, c.lease_valid());
      }));
}

// The quorum's word is good for the name only; of the node behind it the next read tells, which the
// server makes after it.
void Contender::check_own(SessionId session) {
  const std::string path = engine_->path().child(fsm_.own_name());
  const auto check = std::make_shared<client::Reply>();
  submit(request::Check{path}, session, [check](const client::Reply& reply) { *check = reply; });
  submit(request::Get{path}, session, on_reply([check](Contender& c, const auto& get) {
           const client::Reply& r = check->status == core::Status::ok ? get : *check;
           const bool other = r.status == core::Status::ok && r.token != c.fsm_.token();
           return c.fsm_.checked(other ? core::Status::no_node : r.status, c.lease_valid(),
                                 r.detail);
         }));
}

std::string Contender::count_path() const {
  return engine_->path().child(std::string(core::count_node));
}

void Contender::list(SessionId session) {
  const std::string& path = engine_->path().str();
  if (!policy_.rule.shares_count()) {
    submit(request::ListChildren{path}, session,
           on_reply([](Contender& c, const auto& r) { return c.listed(r, client::Reply{}); }));
    return;
  }
  // The number comes after the list. But what is never sent may be answered out of turn.
  struct Look {
    std::optional<client::Reply> queue;
    std::optional<client::Reply> count;
  };
  const auto look = std::make_shared<Look>();
  const auto both = [look](Contender& c) {
    return look->queue && look->count ? c.listed(*look->queue, *look->count)
                                      : core::AcquireEffects{};
  };
  const auto list = submit(request::ListChildren{path}, session,
                           on_reply([look, both](Contender& c, const client::Reply& reply) {
                             look->queue = reply;
                             return both(c);
                           }));
  const auto count = submit(request::Get{count_path()}, session,
                            on_reply([look, both](Contender& c, const client::Reply& reply) {
                              look->count = reply;
                              return both(c);
                            }));
  if (session != SessionId{}) return;
  list_id_ = list;
  count_id_ = count;
}

core::AcquireEffects Contender::listed(const client::Reply& queue, const client::Reply& count) {
  auto effects = fsm_.listed({queue.status,
                              queue.token,
                              queue.children,
                              queue.detail,
                              {count.status, count.session, count.data, count.detail}},
                             lease_valid());
  tell_place();
  return effects;
}

void Contender::predecessor_watched(const std::string& node, const client::Reply& reply) {
  run(fsm_.watched(node, {reply.status, reply.token, reply.data, reply.detail}));
}

void Contender::predecessor_event(const std::string& node, request::WatchEvent event) {
  run(event == request::WatchEvent::changed ? fsm_.predecessor_changed(node, lease_valid())
                                            : fsm_.predecessor_deleted(node));
}

void Contender::tell_place() {
  const AcquireState state = fsm_.state();
  const bool waits = state == AcquireState::arming || state == AcquireState::waiting ||
                     (state == AcquireState::delaying && policy_.wait);
  if (waits) events_.tell(LockEvent::Kind::waiting, fsm_.token(), fsm_.position());
}

void Contender::pause() {
  const auto delay =
      std::max<core::Duration>(core().keeper().timeout() / 24, std::chrono::milliseconds(10));
  core().scheduler().at(core().scheduler().now() + delay, [self = shared_from_this()] {
    const LockEngine::Section section(*self->engine_);
    self->run(self->fsm_.resume());
  });
}

bool Contender::lease_valid() {
  if (ownership_.state() != Ownership::State::waiting) return false;
  term_ = core().keeper().valid_term(fsm_.session());
  return term_ != nullptr;
}

// ---- waiting calls ------------------------------------------------------------------------------

std::optional<Error> Contender::refusal(core::CountKind kind) const {
  if (ownership_.state() == Ownership::State::lost ||
      ownership_.state() == Ownership::State::over) {
    return error(Errc::lock_lost, "this owner's earlier hold was lost; unlock it first");
  }
  // Others that hold shared would wait for this owner as it for them.
  const bool has_place = policy_.rule.access != Access::shared;
  const bool keeps_it =
      ownership_.state() == Ownership::State::waiting || ownership_.exclusive_count() > 0;
  if (core::is_shared(kind) || (has_place && keeps_it)) return std::nullopt;
  return error(Errc::would_deadlock, "this owner has the lock shared; unlock that first");
}

void Contender::join(Call call) {
  const bool held = holds_validly();
  if (auto refused = refusal(call.kind)) {
    complete(call, {.error = std::move(refused)});
    return;
  }
  if (held) {
    ownership_.add(call.kind);
    complete(call, {.contender = shared_from_this()});
    return;
  }
  call.began = core().scheduler().now();
  // A single attempt has no deadline of its own, but it is not to hang on a server that is gone.
  core().scheduler().cancel(std::exchange(call.timer, {}));
  Deadline limit = call.deadline;
  if (!policy_.wait) {
    const auto most = Deadline::after(call.began, core().settings().connection_timeout);
    limit = limit.has_passed(call.began) ? most : std::min(limit, most);
  }
  if (!limit.is_never()) {
    call.timer = core().scheduler().at(limit.at(), entering([ticket = call.ticket](Contender& c) {
                                         c.leave(ticket, Why::deadline);
                                       }));
  }
  calls_.push_back(std::move(call));
}

void Contender::leave(std::uint64_t ticket, Why why) {
  const auto call = std::ranges::find(calls_, ticket, &Call::ticket);
  if (call == calls_.end()) return;
  Call leaving = std::move(*call);
  calls_.erase(call);
  complete(leaving, outcome_of(leaving, why));
  if (calls_.empty()) give_up();
}

void Contender::leave_all(const void* on_behalf) {
  std::vector<std::uint64_t> tickets;
  for (const Call& call : calls_) {
    if (call.on_behalf == on_behalf) tickets.push_back(call.ticket);
  }
  for (const std::uint64_t ticket : tickets) leave(ticket, Why::closed);
}

Outcome Contender::outcome_of(const Call& call, Why why) {
  switch (why) {
    case Why::cancelled: return {};
    case Why::closed:
      return {.error = error(Errc::closed, core().closed() ? std::string_view{}
                                                           : "the mutex was destroyed meanwhile")};
    case Why::deadline: break;
  }
  if (policy_.wait && (had_node_ || core().keeper().is_connected())) return {};
  const auto waited =
      std::chrono::duration_cast<std::chrono::milliseconds>(core().scheduler().now() - call.began);
  std::string cause = "no server answered within " + std::to_string(waited.count()) + " ms";
  const std::string trouble = core().coordinator().trouble();
  if (!trouble.empty()) cause += " (" + trouble + ")";
  return {.error = error(Errc::not_connected, cause)};
}

void Contender::give_up() {
  if (ownership_.state() != Ownership::State::waiting) return;
  const auto self = shared_from_this();
  core::AcquireEffects effects = fsm_.give_up();
  depart();
  run(std::move(effects));
}

// Nobody waits any more; the machine may still have to find out about its node.
void Contender::depart() {
  ownership_.withdraw();
  if (!fsm_.over()) {
    begun_work_ = true;
    work_ = core().work().begin();
  }
  engine_->forget(*this);
}

void Contender::drop_calls() noexcept {
  for (const Call& call : calls_) core().scheduler().cancel(call.timer);
  calls_.clear();
}

// The machine has come to its end without a grant: the node is gone, or on its way out.
void Contender::step_ended() {
  leave_session();
  if (std::exchange(begun_work_, false)) core().work().end(work_);
  if (ownership_.state() != Ownership::State::waiting) return;
  const auto self = shared_from_this();
  depart();
  // A single attempt has failed. Calls of the same owner that came meanwhile and can wait go on.
  std::vector<Call> calls = std::exchange(calls_, {});
  std::shared_ptr<Contender> next;
  for (Call& call : calls) {
    if (policy_.wait || call.deadline.has_passed(core().scheduler().now())) {
      complete(call, {});
      continue;
    }
    if (!next) {
      core::AcquireFsm::Policy patient = policy_;
      patient.rule = rule_for(calls);
      patient.wait = true;
      patient.lists = call.listener != nullptr;
      next = engine_->begin(key_, owner_, std::move(patient), call.listener);
    }
    next->join(std::move(call));
  }
  if (next) next->start();
}

// Calls that only read have joined one that was to write: they need not exclude anybody.
core::QueueRule Contender::rule_for(const std::vector<Call>& calls) const {
  const core::Instant now = core().scheduler().now();
  const bool writes = std::ranges::any_of(calls, [now](const Call& call) {
    return !core::is_shared(call.kind) && !call.deadline.has_passed(now);
  });
  return writes ? fsm_.rule() : core::QueueRule::reader();
}

void Contender::fail(Errc code, const std::string& cause) {
  for (Call& call : std::exchange(calls_, {})) complete(call, {.error = error(code, cause)});
  if (!fsm_.over() && ownership_.state() == Ownership::State::waiting) depart();
}

void Contender::complete(Call& call, Outcome outcome) {
  core().scheduler().cancel(call.timer);
  engine_->later([done = std::move(call.done), result = std::move(outcome)] { done(result); });
}

Error Contender::error(Errc code, std::string_view cause) const {
  return Error(code, "lock", engine_->path().str(), cause);
}

// ---- news of the session ------------------------------------------------------------------------

void Contender::session_ended(SessionId session) {
  const LockEngine::Section section(*engine_);
  if (fsm_.state() != AcquireState::granted) {
    run(fsm_.session_ended(session));
  } else if (session == fsm_.session()) {
    lose(Loss::node);
  }
}

void Contender::term_lapsed(const std::shared_ptr<core::LeaseTerm>& term) {
  const LockEngine::Section section(*engine_);
  if (fsm_.state() == AcquireState::granted && tenure_->is_of(term)) lose(Loss::lease);
}

bool Contender::holds_on(SessionId session) const noexcept {
  return ownership_.state() == Ownership::State::held && session == fsm_.session();
}

void Contender::suspended(SessionId session) {
  if (!events_.heard()) return;
  const LockEngine::Section section(*engine_);
  if (holds_on(session)) tenure_->suspended();
}

void Contender::resumed(SessionId session) {
  if (!events_.heard()) return;
  const LockEngine::Section section(*engine_);
  if (holds_on(session)) tenure_->resumed();
}

void Contender::tick() {
  const LockEngine::Section section(*engine_);
  const bool here = ownership_.state() == Ownership::State::waiting ||
                    ownership_.state() == Ownership::State::held;
  if (!here || !fsm_.has_node()) return;
  if (downgrade_.settled()) own_watch_.tick();
  if (ownership_.state() == Ownership::State::held) revocation_.tick();
}

void Contender::own_node_gone() {
  if (!fsm_.has_node()) return;
  if (fsm_.state() == AcquireState::granted) {
    lose(Loss::node);
  } else {
    run(fsm_.own_node_deleted());
  }
}

}  // namespace zklock::recipes
