// SPDX-License-Identifier: Apache-2.0
// The programs: the use of their holds, and the queries of these.
#include <algorithm>
#include <exception>
#include <utility>

#include "tests/model/simulator/leader.h"
#include "tests/model/simulator/users.h"
#include "zklock/core/lock_path.h"
#include "zklock/engine/path_lock.h"
#include "zklock/engine/queue_reader.h"
#include "zklock/error.h"
#include "zklock/guarded_transaction.h"

namespace zklock::simulator {

namespace {

/// Returns the access of the whole. A MultiMutex without an exclusive part excludes no other.
Access access_of(const Call& call) {
  if (call.object.kind == LockClass::multi) {
    const bool excludes = part_kind(call.object, 0).access == Access::exclusive ||
                          part_kind(call.object, 1).access == Access::exclusive;
    return excludes ? Access::exclusive : Access::shared;
  }
  if (call.step.reads != 0 && call.object.kind == LockClass::shared) return Access::shared;
  const bool permits =
      call.object.kind == LockClass::semaphore || call.object.kind == LockClass::counted;
  return permits ? Access::permits : Access::exclusive;
}

}  // namespace

void Users::name_parts(Call& call) {
  call.parts.clear();
  const std::span<const Hold> holds = call.got.composite.holds();
  const bool quorum = call.object.kind == LockClass::quorum;
  std::uint32_t whole = resource_of(call.ensemble, call.object.path);
  if (quorum) whole = resource_of_quorum(call.object.path);
  if (call.object.kind == LockClass::multi) whole = kResourceOfMulti;
  call.parts.push_back({.hold = call.id,
                        .resource = whole,
                        .ensemble = call.ensemble,
                        .path = call.object.path,
                        .access = access_of(call)});
  for (std::size_t i = 0; i < holds.size(); ++i) {
    if (!holds[i]) continue;
    const int path = quorum ? call.object.path : static_cast<int>(i);
    const std::size_t ensemble = quorum ? i : 0;
    call.parts.push_back(
        {.hold = ++last_id_,
         .resource = resource_of(ensemble, path),
         .ensemble = ensemble,
         .path = path,
         .index = static_cast<int>(i),
         .access = quorum ? Access::exclusive : part_kind(call.object, path).access});
  }
}

const Hold* Users::hold_of(const Call& call, const Call::Part& part) const {
  if (part.index >= 0) return &call.got.composite[static_cast<std::size_t>(part.index)];
  return call.got.hold ? &call.got.hold : nullptr;
}

HoldState Users::state_of(const Call& call, const Call::Part& part) const {
  if (const Hold* const hold = hold_of(call, part)) return hold->state();
  return call.got.composite ? call.got.composite.state() : call.leadership.state();
}

bool Users::is_taken(const Call& call, const Call::Part& part) const {
  const Hold* const hold = hold_of(call, part);
  if (!hold && call.got.composite) return false;
  const FencingToken token = hold ? hold->token() : call.leadership.token();
  return history_writer_.is_taken(part.ensemble, token.zxid);
}

void Users::granted(Call& call) {
  probe(call);
  call.over = false;
  // If a part has lost its lock znode, the composite hold has lost it.
  const bool taken =
      std::ranges::any_of(call.parts, [&](const Call::Part& part) { return is_taken(call, part); });
  for (const Call::Part& part : call.parts) {
    const Hold* const hold = hold_of(call, part);
    const bool leader = !hold && !call.got.composite;
    const FencingToken token = hold ? hold->token() : call.leadership.token();
    history_writer_.note({.kind = Event::Kind::granted,
                          .flag = taken,
                          .access = part.access,
                          .hold = part.hold,
                          .resource = part.resource,
                          .owner = call.owner_number,
                          .permits = hold && part.access == Access::permits ? hold->permits() : 0,
                          .token = hold || leader ? token : FencingToken{}});
  }
  // The next contender then waits until the lock znode is deleted.
  if (call.id % 8 == 0) static_cast<void>(call.got.hold.expose_node());
  live_.push_back(&call);
  register_loss(call);
  count(call);
  write(call);
}

void Users::register_loss(Call& call) {
  for (Call::Part& part : call.parts) {
    const Hold* const hold = hold_of(call, part);
    const std::stop_token token = hold                 ? hold->loss_token()
                                  : call.got.composite ? call.got.composite.loss_token()
                                                       : call.leadership.end_token();
    part.on_loss =
        std::make_unique<std::stop_callback<std::function<void()>>>(token, [this, &call, &part] {
          // A leadership that is to be resigned is notified, too.
          part.must_end = true;
          const bool lost = state_of(call, part) == HoldState::lost;
          if (call.process->dead() || !lost) return;
          part.notified = true;
          history_writer_.note({.kind = Event::Kind::notified, .hold = part.hold});
          if (call.step.ending != Ending::until_lost || call.over) return;
          after(*call.process, 500, [this, &call] { release_node(call); });
        });
  }
}

// Queries all other holds of these resources before this grant is noted.
void Users::probe(const Call& call) {
  for (std::size_t i = 0; i < live_.size(); ++i) {
    Call& other = *live_[i];
    if (!other.process->runs()) continue;
    for (Call::Part& part : other.parts) {
      const auto own = std::ranges::find(call.parts, part.resource, &Call::Part::resource);
      if (own == call.parts.end()) continue;
      // A contender that does not wait for that hold can be granted at the moment of its end.
      const bool excludes = own->access == Access::exclusive || part.access != own->access;
      query(other, part, excludes);
    }
  }
}

/// Queries the state of a hold. `strictly`: a loss must have been notified by now.
void Users::query(Call& call, Call::Part& part, bool strictly) {
  if (call.over || part.said_lost) return;
  const bool held = state_of(call, part) != HoldState::lost;
  part.said_lost = !held;
  if (!held && part.must_end && !part.notified) {
    part.notified = true;
    history_writer_.note({.kind = Event::Kind::notified, .hold = part.hold});
  }
  const bool able = universe_.now() > call.process->excused_until;
  const bool fine = held || !strictly || !able || part.notified;
  history_writer_.note({.kind = held ? Event::Kind::said_held : Event::Kind::said_lost,
                        .flag = fine,
                        .hold = part.hold});
}

void Users::query_all(const SimProcess& process) {
  for (Call* const call : live_) {
    if (call->process != &process) continue;
    for (Call::Part& part : call->parts) query(*call, part, false);
  }
}

void Users::bury(const SimProcess& process) {
  const auto dead = live_;
  for (Call* const call : dead) {
    if (call->process == &process) forget(*call);
  }
  for (const auto& call : calls_) {
    if (call->process != &process || call->ended || !call->parts.empty()) continue;
    history_writer_.note(
        {.kind = Event::Kind::ended, .flag = true, .hold = call->id, .number = -2});
    call->ended = true;
  }
}

// Notes that the call's holds are released, or that their process has ended.
void Users::forget(Call& call, bool given_back) {
  if (call.over) return;
  for (const Call::Part& part : call.parts) {
    const bool held = given_back && !part.said_lost;
    history_writer_.note({.kind = Event::Kind::released, .flag = held, .hold = part.hold});
  }
  std::erase(live_, &call);
  call.over = true;
}

void Users::release_node(Call& call) {
  if (call.over) return;
  for (Call::Part& part : call.parts) query(call, part, false);
  forget(call, true);
  if (call.step.ending == Ending::locks) {
    engine_of(call)->unlock(*call.owner, core::CountKind::lock);
  }
  call.got.hold.release();
  call.got.composite.release();
  if (!call.process->closed()) count(call);
  after(*call.process, 3000, [this, &call] { write(call); });
}

void Users::end_a_thread(const SimProcess& process) {
  const auto locked = std::ranges::find_if(live_, [&](const Call* call) {
    return call->process == &process && call->step.ending == Ending::locks;
  });
  if (locked != live_.end()) end_thread(**locked);
}

void Users::end_thread(Call& call) {
  if (call.over || !call.process->runs()) return;
  for (Call::Part& part : call.parts) query(call, part, false);
  forget(call);
  engine_of(call)->thread_exits(*call.owner);
  ++threads_ended_;
  if (!call.process->closed()) count(call);  // no count of the thread is left
  call.got.hold.release();
}

std::shared_ptr<detail::PathLock> Users::engine_of(const Call& call) {
  return call.process->line(call.ensemble)
      .core->path_lock(core::LockPath(path_of(call.object.path)));
}

void Users::count(const Call& call) {
  switch (call.object.kind) {
    case LockClass::reentrant:
    case LockClass::shared:
    case LockClass::priority: break;
    case LockClass::mutex:
    case LockClass::semaphore:
    case LockClass::counted:
    case LockClass::multi:
    case LockClass::quorum:
    case LockClass::latch:
    case LockClass::election:
    case LockClass::observer:
    case LockClass::election_observer: return;
  }
  if (!call.owner) return;
  // A grant that has not been delivered yet is counted already.
  const bool comes = std::ranges::any_of(calls_, [&](const auto& other) {
    return !other->ended && other->owner_number == call.owner_number;
  });
  if (comes) return;
  const std::uint32_t resource = call.parts.front().resource;
  for (Call* const other : live_) {
    if (other->owner_number != call.owner_number) continue;
    for (Call::Part& part : other->parts) {
      if (part.resource == resource) query(*other, part, false);
    }
  }
  history_writer_.note({.kind = Event::Kind::counted,
                        .resource = resource,
                        .owner = call.owner_number,
                        .number = engine_of(call)->ownership(*call.owner).count()});
}

void Users::plan_ending(Call& call) {
  const std::int64_t half = call.step.hold / 2;
  switch (call.step.ending) {
    case Ending::release:
    case Ending::throws:
    case Ending::locks:
    case Ending::until_lost: after(*call.process, half, [this, &call] { write(call); }); break;
    case Ending::nested: after(*call.process, half, [this, &call] { nest(call); }); break;
    case Ending::commits: after(*call.process, half, [this, &call] { commit(call); }); break;
    case Ending::renews:
      after(*call.process, half, [&call] {
        if (!call.over && call.got.hold) static_cast<void>(call.got.hold.renew());
        if (!call.over && call.got.composite) static_cast<void>(call.got.composite.renew());
      });
      break;
  }
  const bool exits = call.step.ending == Ending::locks && call.step.salt % 4 == 0;
  after(*call.process, call.step.hold,
        [this, &call, exits] { exits ? end_thread(call) : release_node(call); });
}

void Users::nest(Call& call) {
  if (call.over || winding_up_ || call.step.owner == 0) return;
  PlanStep again = call.step;
  again.ending = Ending::release;
  again.wait = 0;
  again.stop = -1;
  acquire(again);
}

// Writes with a guarded transaction. Its reported outcome must be true.
void Users::commit(Call& call) {
  if (call.over || !call.got.hold || access_of(call) != Access::exclusive) return;
  const FencingToken token = call.got.hold.token();
  const std::uint32_t number = begin_commit(call, call.got.hold.node());
  GuardedTransaction transaction(call.got.hold);
  transaction.set(data_path_of(call.object.path), std::to_string(token.zxid) + "." +
                                                      std::to_string(token.grant_index) + "." +
                                                      std::to_string(number));
  try {
    transaction.async_commit(
        [this, number](const std::exception_ptr& error) { committed(number, error); });
  } catch (const std::exception&) {  // nothing was sent
    commits_.erase(number);
  }
}

std::uint32_t Users::begin_commit(const Call& call, std::string guard) {
  const std::uint32_t number = ++last_commit_;
  history_writer_.expect_commit(number, call.ensemble, std::move(guard));
  commits_.emplace(number, call.process);
  return number;
}

void Users::committed(std::uint32_t number, const std::exception_ptr& error) {
  std::int64_t what = 0;
  try {
    if (error) std::rethrow_exception(error);
  } catch (const Error& e) {
    what = e.errc() == Errc::outcome_unknown || e.errc() == Errc::closed ? 2 : 1;
  }
  commits_.erase(number);
  history_writer_.note({.kind = Event::Kind::committed, .hold = number, .number = what});
}

// Writes to a resource that refuses tokens below the highest that it has seen.
void Users::write(Call& call) {
  if (call.parts.size() != 1 || access_of(call) != Access::exclusive) return;
  if (call.object.kind == LockClass::shared || !call.process->runs()) return;
  const Call::Part& part = call.parts.front();
  const FencingToken token = call.token;
  const bool holds = !call.over && state_of(call, part) != HoldState::lost;
  FencingToken& highest = fenced_[part.resource];
  const bool refused = token < highest;
  highest = std::max(highest, token);
  history_writer_.note({.kind = refused ? Event::Kind::refused : Event::Kind::written,
                        .flag = holds && !history_writer_.is_taken(part.ensemble, token.zxid),
                        .hold = part.hold,
                        .resource = part.resource,
                        .token = token});
}

void Users::node_taken(std::size_t ensemble, const std::string& path) {
  const model::Node* const node = universe_.ensemble(ensemble).find(path);
  if (node == nullptr) return;
  const std::int64_t queue_zxid = history_writer_.token_of(ensemble, path);
  history_writer_.taken(ensemble, node->czxid);
  history_writer_.taken_name(ensemble, path);
  for (Call* const call : live_) {
    for (const Call::Part& part : call->parts) {
      const Hold* const hold = hold_of(*call, part);
      const bool leader = !hold && !call->got.composite;
      if (!hold && !leader) continue;
      const std::int64_t token = (hold ? hold->token() : call->leadership.token()).zxid;
      if (token != queue_zxid || part.ensemble != ensemble) continue;
      history_writer_.taken(ensemble, token);
      for (const Call::Part& each : call->parts) {
        history_writer_.note({.kind = Event::Kind::taken, .hold = each.hold});
      }
    }
  }
}

bool Users::is_held(const std::string& node) const {
  return std::ranges::any_of(live_, [&](const Call* call) {
    return std::ranges::any_of(call->parts, [&](const Call::Part& part) {
      const Hold* const hold = hold_of(*call, part);
      if (hold == nullptr || part.ensemble != 0) return false;
      // No downgraded hold: the data of its znode identify it, and must not be overwritten.
      const model::Node* const there = universe_.ensemble(0).find(node);
      return there != nullptr && there->czxid == hold->token().zxid;
    });
  });
}

}  // namespace zklock::simulator
