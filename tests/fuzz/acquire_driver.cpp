// SPDX-License-Identifier: Apache-2.0
#include "tests/fuzz/acquire_driver.h"

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <iterator>
#include <utility>

#include "tests/fuzz/children.h"
#include "zklock/core/znode_data.h"

namespace zklock::fuzz {

using namespace core;
using State = AcquireState;

namespace {

constexpr int kEnoughAnswers = 64;

QueueRule choose_rule(Choices& choices) {
  switch (choices.below(6)) {
    case 0:
    case 1: return QueueRule::mutex();
    case 2: return QueueRule::writer();
    case 3: return QueueRule::reader();
    case 4: return QueueRule::permits(2, 4, false);
    default: return QueueRule::permits(2, 4, true);
  }
}

}  // namespace

AcquireDriver::AcquireDriver(Choices& choices)
    : choices_(choices), policy_(choose_policy(choices)), fsm_("id", 1, policy_) {}

AcquireFsm::Policy AcquireDriver::choose_policy(Choices& choices) {
  AcquireFsm::Policy policy{.rule = choose_rule(choices)};
  const unsigned flags = choices.byte();
  if (policy.rule.is_mutex() && (flags & 1U) != 0) policy.gate = QueueRule::weighted(5, 2);
  policy.wait = (flags & 2U) == 0;
  policy.queue_again = (flags & 4U) == 0;
  policy.always_list = (flags & 8U) != 0;
  policy.count_children = (flags & 16U) == 0;
  policy.lock_delay = std::chrono::seconds((flags & 32U) != 0 ? 3 : 0);
  return policy;
}

void AcquireDriver::run() {
  take(fsm_.start(choices_.one_in(16)));
  while (choices_.any_left()) step();
  come_to_an_end();
}

void AcquireDriver::step() {
  if (!outstanding_.empty() && !choices_.one_in(4)) return answer();
  event();
}

// ---- events -------------------------------------------------------------------------------------

void AcquireDriver::event() {
  lease_ = false;
  switch (choices_.below(9)) {
    case 0:
    case 1: {
      if (armed_.empty()) return;
      const auto which = choices_.below(armed_.size());
      const Armed fired = armed_[which];
      armed_.erase(armed_.begin() + which);
      if (choices_.one_in(2)) return take(fsm_.on_predecessor_deleted(fired.node));
      first_ = fired.is_release;
      const bool lease = choose_lease();
      return take(fsm_.on_predecessor_released(fired.node, lease));
    }
    case 2:  // the watch is no longer armed
      if (!armed_.empty() || fsm_.state() == State::arming) return;
      return take(fsm_.on_predecessor_deleted(choose_name()));
    case 3: {
      const SessionId session = choose_session();
      if (own_ && own_->session == session) own_->is_deleted = true;
      return take(fsm_.on_session_ended(session));
    }
    case 4:
      if (!fsm_.node().exists()) return;
      if (own_) own_->is_deleted = true;
      return take(fsm_.on_own_node_deleted());
    case 5: return take(fsm_.on_pause_over());
    case 6:
      if (fsm_.state() != State::delaying) return;
      if (!choices_.one_in(2)) return take(fsm_.on_delay_over());
      if (!policy_.wait) take(fsm_.withdraw());
      return;
    case 7:
      if (choices_.one_in(4)) withdraw();
      return;
    default: return;
  }
}

void AcquireDriver::withdraw() {
  if (granted_ || fsm_.has_ended()) return;
  gave_up_ = true;
  take(fsm_.withdraw());
}

/// Gives up, and answers every request with `closed` until the machine ends.
void AcquireDriver::come_to_an_end() {
  withdraw();
  refused_ = true;
  for (int i = 0; i < kEnoughAnswers && !granted_ && !fsm_.has_ended(); ++i) {
    outstanding_.empty() ? take(fsm_.on_pause_over()) : answer();
  }
  require(granted_ || fsm_.has_ended(), "it comes to its end");
}

// ---- answers ------------------------------------------------------------------------------------

Status AcquireDriver::choose_status() {
  constexpr Status kAll[] = {
      Status::unknown,          Status::session_ended, Status::not_connected,
      Status::throttled,        Status::closed,        Status::no_node,
      Status::node_exists,      Status::not_empty,     Status::bad_version,
      Status::no_auth,          Status::auth_failed,   Status::invalid_acl,
      Status::quota_exceeded,   Status::read_only,     Status::too_many_nodes,
      Status::too_many_watches, Status::server_error,  Status::not_sent};
  if (refused_) return Status::closed;
  // An answer out of order implies that the request was never sent.
  if (out_of_turn_) return choices_.one_in(2) ? Status::closed : Status::not_connected;
  const unsigned which = choices_.byte();
  if (which >= 64) return Status::ok;
  const Status status = kAll[which % std::size(kAll)];
  // `not_sent` answers only an abandoned request.
  if (status == Status::not_sent && !abandoned_) return Status::unknown;
  return status;
}

SessionId AcquireDriver::choose_session() {
  return {static_cast<std::int64_t>(choices_.below(2)) + 1};
}

FencingToken AcquireDriver::choose_token() {
  return {static_cast<std::int64_t>(choices_.below(8)) + 1};
}

/// Returns the name of a znode that could be the machine's own, or of any child.
std::string AcquireDriver::choose_name() {
  if (choices_.one_in(3)) return choose_child(choices_);
  return ZnodeName::make(fsm_.present_rule().prefix(), choose_sequence(choices_)).text;
}

std::string AcquireDriver::choose_data() {
  const unsigned which = choices_.byte();
  if (which >= 240) return std::string(choices_.text());
  if (which >= 200) return std::to_string(which % 6);
  ZnodeData data;
  data.attempt = (which & 1U) != 0 ? fsm_.attempt().text() : "another.1";
  data.announces = (which & 2U) != 0;
  if ((which & 4U) != 0) data.token = choose_token().zxid;
  return data.encode();
}

// ---- requests -----------------------------------------------------------------------------------

void AcquireDriver::take(const AcquireEffects& effects) {
  require(!granted_ || effects.empty(), "no request after the grant");
  require(effects.size() <= kMostChildren + 8, "not too much at once");
  const auto watches = [](const AcquireEffect& effect) { return effect.kind == Kind::watch; };
  if (std::ranges::any_of(effects, watches)) watches_ = 0;
  for (const AcquireEffect& effect : effects) take(effect);
  check_state();
}

void AcquireDriver::take(const AcquireEffect& effect) {
  require(!granted_, "a grant is the last word");
  switch (effect.kind) {
    case Kind::create:
    case Kind::move:
      require(!gave_up_, "a withdrawn contender does not queue again");
      require(attempts_.insert(effect.text).second, "no attempt is used twice");
      if (effect.kind == Kind::move) require(first_, "it moves when it is first at the gate");
      if (effect.kind == Kind::create) {
        require(!own_ || own_->is_deleted, "one node at a time");
        own_.reset();
      }
      attempt_ = effect.text;
      abandoned_ = false;
      request(effect);
      if (effect.kind == Kind::create && fsm_.is_counting_children()) {
        outstanding_.push_back({.kind = Kind::list, .text = {}});
      }
      return;
    case Kind::watch:
      require(policy_.wait, "a single attempt sets no watch");
      ++watches_;
      request(effect);
      return;
    case Kind::create_parents:
    case Kind::check_path:
    case Kind::list:
    case Kind::create_count:
    case Kind::inspect:
    case Kind::check_own:
    case Kind::remove_path:
    case Kind::mark:
    case Kind::clear: request(effect); return;
    case Kind::unwatch: armed_.clear(); return;
    case Kind::remove_node: removal(effect); return;
    case Kind::delay:
      require(!fsm_.delay_markers().orphans.empty(),
              "a delay is waited for because of an orphaned marker");
      return;
    case Kind::pause: return;
    case Kind::drop_unsent: abandoned_ = true; return;
    case Kind::remove_late_create: return;
    case Kind::grant: check_grant(effect); return;
    case Kind::fail:
      require(!std::exchange(failed_, true), "one error is reported");
      require(!gave_up_, "a withdrawn contender reports no position");
      return;
  }
}

void AcquireDriver::request(const AcquireEffect& effect) {
  for (const AcquireEffect& other : outstanding_) {
    const bool both_watch = other.kind == Kind::watch && effect.kind == Kind::watch;
    require(both_watch && other.text != effect.text, "one request at a time");
  }
  const bool decides = effect.kind == Kind::list || effect.kind == Kind::watch ||
                       effect.kind == Kind::inspect || effect.kind == Kind::create;
  if (decides) first_ = false;
  outstanding_.push_back(effect);
}

void AcquireDriver::removal(const AcquireEffect& effect) {
  require(effect.session != SessionId{}, "a node is removed on its session");
  const bool is_own = own_ && effect.text == own_->name;
  if (!is_own && DelayMarker::parse(effect.text)) return;
  require(is_own, "only the contender's znode is deleted", effect.text);
  require(effect.session == own_->session, "on the node's session");
  require(!std::exchange(own_->removed, true), "once");
  own_->is_deleted = true;
}

void AcquireDriver::check_grant(const AcquireEffect& effect) {
  require(!gave_up_ && !failed_, "no grant after a failure or withdrawal");
  require(own_.has_value(), "no grant without a node");
  require(fsm_.node().name() == own_->name && fsm_.node().token() == own_->token,
          "of the contender's znode");
  require(fsm_.node().session() == own_->session && effect.session == own_->session,
          "and its session");
  require(!own_->removed, "which is not being removed");
  const auto own = parse_znode_name(own_->name);
  require(own && is_usable(own->sequence), "which has a place in the queue");
  require(lease_, "with a valid lease");
  require(first_, "the contender is first according to a reply");
  require(!fsm_.node().at_gate(), "not at the gate");
  const bool leaves = policy_.rule.access == Access::exclusive && policy_.lock_delay.count() > 0;
  require(fsm_.delay_markers().has_own() == leaves, "with its marker, if it leaves one");
  granted_ = true;
}

void AcquireDriver::check_state() {
  const bool waits = fsm_.state() == State::arming || fsm_.state() == State::waiting;
  require(waits || armed_.empty(), "no watch is left");
  require(fsm_.has_ended() || fsm_.state() != State::idle, "it has begun");
  if (!fsm_.has_ended()) return;
  outstanding_.clear();
  require(!fsm_.node().exists(), "it ends without a node");
  require(!own_ || own_->is_deleted, "no node is left");
  require(failed_ || gave_up_ || !policy_.wait, "it does not end without a word");
}

}  // namespace zklock::fuzz
