// SPDX-License-Identifier: Apache-2.0
#include "tests/model/simulator/injector.h"

#include <algorithm>
#include <chrono>
#include <utility>
#include <vector>

#include "zklock/core/znode_name.h"

namespace zklock::simulator {

using model::OnTheWay;
using model::OperationKind;
using std::chrono::microseconds;
using std::chrono::milliseconds;

namespace {

struct LossOf {
  Fault reply;
  Fault request;
  std::vector<OperationKind> kinds;
};

const std::vector<LossOf>& losses() {
  static const std::vector<LossOf> kAll = {
      {Fault::lost_reply_create, Fault::lost_request_create, {OperationKind::create_contender}},
      {Fault::lost_reply_count, Fault::lost_request_count, {OperationKind::count_children}},
      {Fault::lost_reply_list,
       Fault::lost_request_list,
       {OperationKind::list_children, OperationKind::list_and_watch}},
      {Fault::lost_reply_get, Fault::lost_request_get, {OperationKind::get}},
      {Fault::lost_reply_watch,
       Fault::lost_request_watch,
       {OperationKind::get_and_watch, OperationKind::exists_and_watch}},
      {Fault::lost_reply_check, Fault::lost_request_check, {OperationKind::check}},
      {Fault::lost_reply_delete,
       Fault::lost_request_delete,
       {OperationKind::announce_and_delete, OperationKind::remove}},
      {Fault::lost_reply_multi, Fault::lost_request_multi, {OperationKind::transaction}},
      {Fault::lost_reply_parents, Fault::lost_request_parents, {OperationKind::create_parents}},
  };
  return kAll;
}

/// Returns whether the fault is counted when it has an effect.
bool is_counted_where_it_happens(Fault fault) {
  return (fault >= Fault::lost_reply_create && fault <= Fault::lost_request_parents) ||
         fault == Fault::thread_exits || fault == Fault::listener_throws ||
         fault == Fault::closed_by_handler;
}

/// Returns whether the fault requires a process that is not stopped.
bool needs_process_that_runs(Fault fault) {
  return fault == Fault::dns_fails_first || fault == Fault::killed ||
         fault == Fault::client_closed || fault == Fault::closed_disconnected ||
         fault == Fault::forked || fault == Fault::image_replaced;
}

OperationKind some_of(const std::vector<OperationKind>& kinds, int salt) {
  return kinds[static_cast<std::size_t>(salt) % kinds.size()];
}

}  // namespace

Injector::Injector(Universe& universe, HistoryWriter& history_writer, Users& users,
                   const Setup& setup)
    : universe_(universe), history_writer_(history_writer), users_(users), setup_(setup) {
  for (int slot = 0; slot < setup.slots; ++slot) {
    if (setup.drift[static_cast<std::size_t>(slot)] != 0) {
      ++counts_[static_cast<std::size_t>(Fault::clock_drift)];
    }
  }
}

FaultCounts Injector::counts() const {
  FaultCounts all = counts_;
  all[static_cast<std::size_t>(Fault::thread_exits)] = users_.threads_ended();
  all[static_cast<std::size_t>(Fault::listener_throws)] = users_.listeners_thrown();
  all[static_cast<std::size_t>(Fault::closed_by_handler)] = users_.closed_by_handlers();
  for (const auto& process : universe_.processes()) {
    for (const auto& line : process->lines()) {
      for (const LossOf& loss : losses()) {
        for (const OperationKind kind : loss.kinds) {
          all[static_cast<std::size_t>(loss.reply)] += line->coordinator.lost_replies(kind);
          all[static_cast<std::size_t>(loss.request)] += line->coordinator.lost_requests(kind);
        }
      }
    }
  }
  return all;
}

void Injector::later(Duration delay, std::function<void()> task) {
  universe_.clock().at(universe_.now() + delay, [this, task = std::move(task)] {
    if (!healed_) task();
  });
}

void Injector::inject(const PlanStep& step) {
  SimProcess& process = users_.process(step.slot);
  if (process.dead() || process.closed()) return;
  if (process.paused() && needs_process_that_runs(step.fault)) return;
  history_writer_.note({.kind = Event::Kind::fault,
                        .flag = step.fault == Fault::no_auth,
                        .number = step.slot,
                        .text = std::string(name_of(step.fault))});
  if (!is_counted_where_it_happens(step.fault)) ++counts_[static_cast<std::size_t>(step.fault)];
  if (step.fault >= Fault::killed) return to_process(step);
  if (step.fault >= Fault::parent_deleted) return to_tree(step);
  if (step.fault >= Fault::read_only) return to_requests(step);
  if (step.fault >= Fault::server_crash) return to_servers(step);
  to_network(step);
}

// ---- time and network ---------------------------------------------------------------------------

void Injector::to_network(const PlanStep& step) {
  SimProcess& process = users_.process(step.slot);
  Line& line = process.line(static_cast<std::size_t>(step.salt) % universe_.ensembles());
  const Duration length = microseconds(step.length);
  switch (step.fault) {
    case Fault::pause_short:
    case Fault::pause_long: return pause(process, length);
    case Fault::cut_off_short:
    case Fault::cut_off_long: return cut_off(process, line, length);
    case Fault::follower_isolated:
    case Fault::leader_isolated: return isolate(step, process, line);
    case Fault::leader_pauses: return pause_leader(line.ensemble, length);
    case Fault::wall_clock_jump:
      line.ensemble.jump(milliseconds(step.salt % 2 == 0 ? 3'600'000 : -3'600'000));
      return;
    case Fault::slow_server: {
      // Messages are late by less than the time after which the client abandons the connection.
      const Duration by = milliseconds(setup_.session_ms) * (1 + step.salt % 24) / 40;
      line.slow_until = universe_.now() + length;
      line.slow_to_server = step.salt % 3 == 0 ? by : Duration();
      line.slow_to_client = step.salt % 3 == 0 ? Duration() : by;
      return;
    }
    case Fault::refused:
      line.coordinator.disconnect(OnTheWay::dropped);
      return no_server(line, length);
    case Fault::dns_fails_first:
      kill(step.slot, Manner::kindly);
      for (auto& each : users_.process(step.slot).lines()) no_new_session(*each, length);
      return;
    case Fault::dns_fails_later: no_new_session(line, length); return expire(line);
    case Fault::timeout_changes: {
      // zklock assumes that the reply to this handshake is not lost. A slow one can come too late.
      if (universe_.now() < line.slow_until) return;
      // The longest half tick is at most a quarter of the timeout, even on a faster clock.
      const Duration shortest = milliseconds(setup_.relay_ms) * 17 / 4;
      const Duration granted = milliseconds(setup_.session_ms) * (30 + step.salt % 91) / 100;
      line.coordinator.options().session_timeout = std::max(granted, shortest);
      return line.coordinator.disconnect(OnTheWay::linger);
    }
    default: return;
  }
}

// A client abandons a connection after two thirds of the session timeout without a message.
void Injector::cut_off(SimProcess& process, Line& line, Duration length) {
  SimCoordinator& own = line.coordinator;
  if (own.is_cut_off() || own.is_down()) return;
  own.cut_off();
  const Duration abandon_after = milliseconds(setup_.session_ms) * 2 / 3;
  if (length < abandon_after) {
    later(length, [&own] { own.mend(); });
    return;
  }
  process.clock().at(process.clock().now() + abandon_after, [&own] {
    if (own.is_cut_off()) own.disconnect(OnTheWay::linger);
  });
  no_server(line, length);
}

void Injector::no_server(Line& line, Duration length) {
  line.no_server_until = std::max(line.no_server_until, universe_.now() + length);
}

// The client resolves the host names only for a new session.
void Injector::no_new_session(Line& line, Duration length) {
  line.no_new_session_until = universe_.now() + length;
}

void Injector::isolate(const PlanStep& step, SimProcess& process, Line& line) {
  SimCoordinator& own = line.coordinator;
  if (own.is_cut_off() || universe_.now() < line.no_isolation_until) return;
  own.isolate(step.fault == Fault::leader_isolated);
  if (step.fault == Fault::leader_isolated) {
    for (auto& other : universe_.processes()) {
      for (auto& each : other->lines()) {
        if (&each->ensemble == &line.ensemble && other.get() != &process) {
          each->coordinator.disconnect(OnTheWay::linger);
        }
      }
    }
    line.ensemble.restart();
  }
  const bool breaks = step.fault == Fault::leader_isolated || step.salt % 2 == 0;
  later(microseconds(step.length), [&own, breaks] {
    if (breaks) own.disconnect(OnTheWay::dropped);
    own.heal(model::Relay::at_once);
  });
}

// zklock assumes that a client notices each pause of a third of the session timeout, unless the
// client itself is paused. After another pause, a server stays connected to the leader for a half
// tick and more.
void Injector::pause_leader(SimEnsemble& ensemble, Duration length) {
  if (ensemble.is_leader_paused()) return;
  ensemble.pause_leader();
  const Instant began = universe_.now();
  const Duration session = milliseconds(setup_.session_ms);
  const bool is_short = length < session / 3;
  const Duration regular_again = milliseconds(setup_.relay_ms) + session / 12;
  const auto keep_connected = [this, &ensemble](Instant until, auto&& concerns) {
    for (auto& process : universe_.processes()) {
      for (auto& line : process->lines()) {
        if (&line->ensemble == &ensemble && concerns(*process)) line->no_isolation_until = until;
      }
    }
  };
  if (is_short) {
    keep_connected(began + length + regular_again, [](const SimProcess&) { return true; });
  }
  later(length, [=, this, &ensemble] {
    ensemble.resume_leader();
    if (is_short) return;
    keep_connected(universe_.now() + regular_again,
                   [began](const SimProcess& each) { return each.excused_until >= began; });
  });
}

// ---- servers ------------------------------------------------------------------------------------

void Injector::to_servers(const PlanStep& step) {
  SimProcess& process = users_.process(step.slot);
  Line& line = process.line(static_cast<std::size_t>(step.salt) % universe_.ensembles());
  const Duration length = microseconds(step.length);
  switch (step.fault) {
    case Fault::server_crash:
      line.coordinator.disconnect(step.salt % 2 == 0 ? OnTheWay::linger : OnTheWay::dropped);
      return;
    case Fault::leader_crash:
    case Fault::all_servers_down: return all_down(line, length);
    case Fault::session_moved: line.coordinator.disconnect(OnTheWay::linger); return;
    case Fault::session_expired: return expire(line);
    case Fault::old_node_visible:
    case Fault::server_lags:
    case Fault::watch_late: {
      const bool others = step.fault == Fault::old_node_visible;
      for (auto& other : universe_.processes()) {
        if (other->dead() || (other.get() == &process) == others) continue;
        for (auto& each : other->lines()) {
          if (&each->ensemble != &line.ensemble) continue;
          each->coordinator.lag();
          later(length, [&own = each->coordinator] { own.catch_up(); });
        }
      }
      if (others) expire(line);
      return;
    }
    case Fault::watch_spurious:
      if (!line.coordinator.say_children_changed()) {
        --counts_[static_cast<std::size_t>(step.fault)];
      }
      return;
    case Fault::recovery_on_laggard:
      line.coordinator.lag();
      line.coordinator.disconnect(OnTheWay::linger);
      later(length, [&own = line.coordinator] { own.catch_up(); });
      return;
    case Fault::auth_failed:
      line.coordinator.refuse_credential();
      line.coordinator.disconnect(OnTheWay::linger);
      later(length, [this, slot = step.slot, &process] {
        if (&users_.process(slot) == &process) kill(slot, Manner::kindly);
      });
      return;
    default: return;
  }
}

void Injector::all_down(Line& line, Duration length) {
  SimEnsemble& ensemble = line.ensemble;
  ensemble.lose_leader();
  for (auto& process : universe_.processes()) {
    for (auto& each : process->lines()) {
      if (&each->ensemble != &ensemble) continue;
      each->coordinator.disconnect(OnTheWay::dropped);
      no_server(*each, length);
    }
  }
  later(length, [&ensemble] { ensemble.restart(); });
}

// Ends the session from outside, as an operator can, or any client that knows its id.
void Injector::expire(Line& line) {
  const auto session = line.coordinator.session();
  for (const std::string& path : line.ensemble.ephemerals(session)) {
    for (std::size_t e = 0; e < universe_.ensembles(); ++e) {
      if (&universe_.ensemble(e) == &line.ensemble) users_.node_taken(e, path);
    }
  }
  line.ensemble.end_session(session);
}

// ---- requests -----------------------------------------------------------------------------------

void Injector::to_requests(const PlanStep& step) {
  SimProcess& process = users_.process(step.slot);
  SimCoordinator& own =
      process.line(static_cast<std::size_t>(step.salt) % universe_.ensembles()).coordinator;
  for (const LossOf& loss : losses()) {
    const OperationKind kind = some_of(loss.kinds, step.salt);
    if (step.fault == loss.reply) own.lose_reply(kind);
    if (step.fault == loss.request) own.lose_request(kind);
  }
  using enum OperationKind;
  core::Status status = core::Status::ok;
  std::vector<OperationKind> kinds = {create_contender};
  if (step.fault == Fault::read_only) {
    status = core::Status::read_only;
    kinds = {create_contender, create_parents, check, remove, announce_and_delete, transaction};
  } else if (step.fault == Fault::no_auth) {
    status = core::Status::no_auth;
    kinds = {create_contender, list_children, get_and_watch, count_children};
  } else if (step.fault == Fault::quota) {
    status = core::Status::quota_exceeded;
  } else if (step.fault == Fault::throttled) {
    status = core::Status::throttled;
    kinds = {create_contender, count_children,
             list_children,    get,
             get_and_watch,    check,
             remove,           announce_and_delete,
             list_and_watch,   exists_and_watch,
             transaction,      create_parents};
  } else if (step.fault == Fault::server_error) {
    status = core::Status::server_error;
    kinds = {create_contender, list_children, get_and_watch, get, create_parents};
  }
  if (status != core::Status::ok) own.fail_next(some_of(kinds, step.salt), status);
  later(microseconds(step.length), [&own] { own.clear_faults(); });
}

// ---- healing ------------------------------------------------------------------------------------

void Injector::heal() {
  healed_ = true;
  for (auto& process : universe_.processes()) {
    // Requests of killed processes arrive, too. Their sessions last one timeout from then on.
    for (auto& line : process->lines()) {
      line->no_server_until = universe_.now();
      line->no_new_session_until = universe_.now();
      line->slow_until = universe_.now();
      line->serve_at.reset();
      line->receive_at.reset();
    }
    if (process->dead()) continue;
    resume(*process);
    process->handlers_blocked_until = universe_.now();
    for (auto& line : process->lines()) {
      line->coordinator.clear_faults();
      line->coordinator.mend();
      line->coordinator.heal(model::Relay::at_once);
      line->coordinator.catch_up();
    }
  }
  for (std::size_t e = 0; e < universe_.ensembles(); ++e) universe_.ensemble(e).restart();
  for (const Stranger& stranger : strangers_) remove_stranger(stranger);
  history_writer_.note({.kind = Event::Kind::healed});
}

}  // namespace zklock::simulator
