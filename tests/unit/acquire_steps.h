// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <iterator>
#include <ostream>
#include <string>
#include <string_view>
#include <vector>

#include "zklock/core/acquire_fsm.h"
#include "zklock/core/lock_delay.h"
#include "zklock/core/znode_data.h"
#include "zklock/core/znode_name.h"

namespace zklock::core::acquire_test {

using State = AcquireState;
using Kind = AcquireEffect::Kind;
using Children = std::vector<std::string>;

inline constexpr SessionId kSessionA{0xa};
inline constexpr SessionId kSessionB{0xb};
inline constexpr std::int64_t kTokenOfCreate = 77;
inline constexpr std::int64_t kTokenOfInspection = 78;
inline constexpr std::int64_t kTokenOfMove = 79;

/// Every status a request can end with.
inline constexpr Status kAllStatuses[] = {
    Status::ok,          Status::unknown,        Status::session_ended,
    Status::not_sent,    Status::not_connected,  Status::throttled,
    Status::closed,      Status::no_node,        Status::node_exists,
    Status::not_empty,   Status::bad_version,    Status::no_auth,
    Status::auth_failed, Status::invalid_acl,    Status::quota_exceeded,
    Status::read_only,   Status::too_many_nodes, Status::too_many_watches,
    Status::server_error};

/// Returns the name of the enumerator.
inline std::string name_of(Status status) {
  constexpr std::string_view kNames[] = {
      "ok",          "unknown",        "session_ended",    "not_sent",    "not_connected",
      "throttled",   "closed",         "no_node",          "node_exists", "not_empty",
      "bad_version", "no_auth",        "auth_failed",      "invalid_acl", "quota_exceeded",
      "read_only",   "too_many_nodes", "too_many_watches", "server_error"};
  static_assert(std::size(kNames) == std::size(kAllStatuses));
  return std::string(kNames[static_cast<std::size_t>(status)]);
}

inline std::string node(int sequence) {
  return ZnodeName::make(kLockPrefix, {sequence}).text;
}

inline std::string data_of(std::string_view attempt, bool announces = true) {
  ZnodeData data;
  data.attempt = attempt;
  data.announces = announces;
  return data.encode();
}

constexpr std::string_view to_string(Kind kind) {
  constexpr std::string_view kNames[] = {
      "create",  "move",  "create_parents", "check_path", "list",        "create_count",
      "inspect", "watch", "unwatch",        "check_own",  "remove_path", "remove_node",
      "mark",    "clear", "delay",          "pause",      "drop_unsent", "remove_late_create",
      "grant",   "fail"};
  static_assert(std::size(kNames) == static_cast<std::size_t>(Kind::fail) + 1);
  return kNames[static_cast<std::size_t>(kind)];
}

/// Returns for example "remove_node lock-0000000005 @a, create id1.2": kind, text, session. Adds
/// the error code for `fail`, and "if own" for AcquireEffect::reads_first.
inline std::string describe(const AcquireEffects& effects) {
  std::string text;
  for (const AcquireEffect& effect : effects) {
    if (!text.empty()) text += ", ";
    text += to_string(effect.kind);
    if (effect.kind == Kind::fail) text += " " + make_error_code(effect.error).message();
    if (!effect.text.empty()) text += (effect.kind == Kind::fail ? ": " : " ") + effect.text;
    if (!effect.sibling.empty()) text += " and " + effect.sibling;
    if (effect.reads_first) text += " if own";
    if (effect.session == kSessionA) text += " @a";
    if (effect.session == kSessionB) text += " @b";
  }
  return text;
}

/// Returns the text of describe() for a failure.
inline std::string failure(Errc error, std::string_view cause = {}) {
  std::string text = "fail " + make_error_code(error).message();
  if (!cause.empty()) text.append(": ").append(cause);
  return text;
}

/// An acquire machine, with short names for its replies. Unless an argument says otherwise, replies
/// are of session a and have no detail. Every call returns the effects as text of describe(). Watch
/// replies and events concern the znode that the machine watched last.
class Steps {
 public:
  explicit Steps(AcquireFsm::Policy policy = {}) : fsm_("id", 1, policy) {}

  const AcquireFsm& fsm() const { return fsm_; }
  State state() const { return fsm_.state(); }

  std::string start(bool counter_ended = false) { return describe(fsm_.start(counter_ended)); }
  /// The reply to a create or a move.
  std::string created(Status status, std::string_view detail = {}) {
    return describe(fsm_.on_created({status, kSessionA, "", {}, detail}, true));
  }
  std::string created(int sequence) { return created_as(node(sequence)); }
  std::string created_as(std::string_view name) {
    return note(fsm_.on_created({Status::ok, kSessionA, name, {kTokenOfCreate}, ""}, true));
  }
  std::string moved(int sequence) {
    return note(
        fsm_.on_created({Status::ok, kSessionA, node(sequence), {kTokenOfMove}, ""}, false));
  }
  std::string counted(int children, bool lease_valid = true, SessionId session = kSessionA) {
    return note(fsm_.on_counted({Status::ok, session, fsm_.node().token(), children}, lease_valid));
  }
  std::string counted(Status status) {
    return describe(fsm_.on_counted({status, kSessionA, {}, 0}, true));
  }
  std::string done(Status status, bool lease_valid = true, std::string_view detail = {}) {
    return describe(fsm_.on_done({status, detail}, lease_valid));
  }
  std::string listed(const Children& children) {
    return note(fsm_.on_listed({Status::ok, {}, children, ""}, true));
  }
  /// For the state draining. The counter of the path is at `next`.
  std::string drained(const Children& children, Sequence next = kFirstUnusableSequence) {
    return describe(fsm_.on_listed({Status::ok, {}, children, "", {}, next}, true));
  }
  std::string listed(Status status, std::string_view detail = {}) {
    return describe(fsm_.on_listed({status, {}, {}, detail}, true));
  }
  /// Passes the number of permits with the list.
  std::string listed(const Children& children, const PermitsAnswer& count) {
    return note(fsm_.on_listed({Status::ok, {}, children, "", count}, true));
  }
  std::string watched_count(std::string_view data) {
    return note(fsm_.on_watched(kCountNode, {Status::ok, {}, data, ""}));
  }
  std::string inspected(Status status, std::string_view detail = {}) {
    return describe(fsm_.on_inspected({status, "", {}, {}, detail}));
  }
  std::string inspected(std::string_view data, SessionId owner = kSessionA) {
    return describe(fsm_.on_inspected({Status::ok, data, owner, {kTokenOfInspection}, ""}));
  }
  std::string watched(Status status, std::string_view detail = {}) {
    return note(fsm_.on_watched(watched_, {status, {}, "", detail}));
  }
  std::string watched(std::string_view data) {
    return note(fsm_.on_watched(watched_, {Status::ok, {}, data, ""}));
  }
  std::string watched_as(std::string_view name, Status status) {
    return note(fsm_.on_watched(name, {status, {}, data_of("other"), ""}));
  }
  std::string predecessor_released() { return changed(watched_); }
  std::string predecessor_deleted() { return note(fsm_.on_predecessor_deleted(watched_)); }
  std::string deleted(std::string_view name) { return note(fsm_.on_predecessor_deleted(name)); }
  std::string changed(std::string_view name) {
    return note(fsm_.on_predecessor_released(name, true));
  }
  std::string session_ended(SessionId session = kSessionA) {
    return describe(fsm_.on_session_ended(session));
  }
  std::string own_node_deleted() { return describe(fsm_.on_own_node_deleted()); }
  std::string delay_over() { return note(fsm_.on_delay_over()); }
  std::string resume() { return note(fsm_.on_pause_over()); }
  std::string withdraw() { return describe(fsm_.withdraw()); }

  /// Replies to the outstanding request of the present state. In the state enqueuing, replies to
  /// the create and to the count.
  std::string answer(Status status, std::string_view detail = {}) {
    switch (state()) {
      case State::enqueuing: {
        const std::string at_once = created(status, detail);
        return at_once + counted(Status::ok);
      }
      case State::making_parents:
      case State::proving:
      case State::confirming:
      case State::creating_count:
      case State::removing_path:
      case State::marking:
      case State::clearing: return done(status, true, detail);
      case State::recovering:
      case State::draining:
      case State::listing: return listed(status, detail);
      case State::inspecting: return inspected(status, detail);
      case State::moving: return created(status, detail);
      case State::arming: return watched(status, detail);
      case State::idle:
      case State::waiting:
      case State::delaying:
      case State::pausing:
      case State::granted:
      case State::ended: break;
    }
    return "nothing is in flight";
  }

 private:
  std::string note(const AcquireEffects& effects) {
    for (const AcquireEffect& effect : effects) {
      if (effect.kind == Kind::watch) watched_ = effect.text;
    }
    return describe(effects);
  }

  AcquireFsm fsm_;
  std::string watched_;
};

/// Returns a machine that reached `state` in the fewest steps. Its own znode has the sequence
/// number 5. The candidates of a recovery have the numbers 4 and 5. `pausing` is entered from
/// listing.
inline Steps steps_in(State state, AcquireFsm::Policy policy = {}) {
  if (state == State::marking) policy.lock_delay = std::chrono::seconds(3);
  Steps steps(policy);
  if (state == State::idle) return steps;
  steps.start();
  switch (state) {
    case State::idle:
    case State::enqueuing: break;
    case State::making_parents: steps.answer(Status::no_node); break;
    case State::proving:
    case State::recovering:
    case State::inspecting:
      steps.answer(Status::unknown);
      if (state != State::proving) steps.done(Status::ok);
      if (state == State::inspecting) steps.listed({node(5), node(4)});
      break;
    case State::listing:
    case State::arming:
    case State::waiting:
    case State::pausing:
      steps.created(5);
      steps.counted(Status::server_error);
      if (state == State::pausing) steps.listed(Status::throttled);
      if (state == State::arming || state == State::waiting) steps.listed({node(4), node(5)});
      if (state == State::waiting) steps.watched(data_of("other"));
      break;
    case State::confirming:
    case State::granted:
      steps.created(5);
      steps.counted(1, state == State::granted);
      break;
    case State::removing_path:
      steps.created(kFirstUnusableSequence.value);
      steps.counted(1);
      break;
    case State::draining: steps.answer(Status::node_exists); break;
    case State::ended: steps.answer(Status::closed); break;
    case State::moving:          // only with a gate
    case State::creating_count:  // only of a semaphore
      break;
    case State::marking:
      steps.created(5);
      steps.counted(1);
      break;
    case State::delaying:
    case State::clearing:
      steps.created(5);
      steps.counted(Status::server_error);
      steps.listed({DelayMarker::make(std::chrono::seconds(7), {70}, {4}).name, node(5)});
      if (state == State::clearing) steps.delay_over();
      break;
  }
  return steps;
}

/// Returns a machine whose own znode exists, and which awaits the list of the children.
inline Steps listing_as(std::string_view name, const AcquireFsm::Policy& policy = {}) {
  Steps steps(policy);
  steps.start();
  steps.created_as(name);
  if (policy.rule.shares_count()) {
    steps.listed(Status::unknown);
  } else if (steps.state() != State::listing) {
    steps.counted(Status::unknown);
  }
  return steps;
}

/// The states with an outstanding request.
inline constexpr State kAskingStates[] = {
    State::enqueuing,     State::making_parents, State::proving,  State::recovering,
    State::inspecting,    State::listing,        State::arming,   State::confirming,
    State::removing_path, State::marking,        State::clearing, State::draining};

constexpr std::string_view to_string(State state) {
  constexpr std::string_view kNames[] = {
      "idle",       "enqueuing",     "making_parents", "proving",        "recovering",
      "inspecting", "listing",       "moving",         "creating_count", "arming",
      "waiting",    "confirming",    "pausing",        "marking",        "delaying",
      "clearing",   "removing_path", "draining",       "granted",        "ended"};
  static_assert(std::size(kNames) == static_cast<std::size_t>(State::ended) + 1);
  return kNames[static_cast<std::size_t>(state)];
}

}  // namespace zklock::core::acquire_test

namespace zklock::core {
/// For the messages of failed expectations.
inline void PrintTo(AcquireState state, std::ostream* out) {
  *out << acquire_test::to_string(state);
}
}  // namespace zklock::core
