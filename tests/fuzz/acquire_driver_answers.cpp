// SPDX-License-Identifier: Apache-2.0
// The answers to the requests of the acquire machine.
#include <algorithm>

#include "tests/fuzz/acquire_driver.h"
#include "tests/fuzz/children.h"
#include "zklock/core/znode_data.h"

namespace zklock::fuzz {

using namespace core;
using State = AcquireState;

/// Records that this answer implies the deletion of the contender's znode.
void AcquireDriver::note_deletion(Status status) {
  const StatusSort sort = sort_of(status);
  const bool is_deleted = sort == StatusSort::session || sort == StatusSort::client_ended ||
                          sort == StatusSort::unsent || status == Status::no_node;
  if (is_deleted && own_) own_->is_deleted = true;
}

void AcquireDriver::answer() {
  const auto which = outstanding_.size() > 1 ? choices_.below(outstanding_.size()) : 0;
  const AcquireEffect request = outstanding_[which];
  outstanding_.erase(outstanding_.begin() + which);
  lease_ = false;
  out_of_turn_ = which > 0 && request.kind != Kind::watch;
  answer(request);
  out_of_turn_ = false;
}

void AcquireDriver::answer(const AcquireEffect& request) {
  switch (request.kind) {
    case Kind::create: return answer_created();
    case Kind::move: return answer_moved();
    case Kind::list:
      return fsm_.state() == State::enqueuing && !fsm_.present_rule().shares_count()
                 ? answer_counted()
                 : answer_listed();
    case Kind::inspect: return answer_inspected(request);
    case Kind::watch: return answer_watched(request);
    case Kind::create_parents: return take(fsm_.on_done({choose_status(), {}}));
    case Kind::remove_path: return take(fsm_.on_done({choose_status(), {}}));
    default: break;
  }
  const Status status = choose_status();
  if (request.kind != Kind::check_path || status != Status::no_node) note_deletion(status);
  const bool lease = choose_lease();
  switch (request.kind) {
    case Kind::check_path:
    case Kind::check_own: return take(fsm_.on_done({status, "said"}, lease));
    case Kind::create_count: return take(fsm_.on_done({status, "said"}));
    case Kind::mark: return take(fsm_.on_done({status, "said"}, lease));
    case Kind::clear: return take(fsm_.on_done({status, "said"}));
    default: require(false, "a request"); break;
  }
}

void AcquireDriver::answer_created() {
  const Status status = choose_status();
  const SessionId session = choose_session();
  const std::string name = status == Status::ok ? choose_name() : "";
  const FencingToken token = choose_token();
  if (status == Status::ok) own_ = Node{.name = name, .session = session, .token = token};
  create_session_ = session;
  first_ = status == Status::ok && !fsm_.is_counting_children() && choices_.one_in(2);
  const bool lease = choose_lease();
  take(fsm_.on_created({status, session, name, token, "said", first_}, lease));
}

void AcquireDriver::answer_moved() {
  const Status status = choose_status();
  const SessionId session = own_ ? own_->session : choose_session();
  const std::string name = status == Status::ok ? choose_name() : "";
  const FencingToken token = choose_token();
  note_deletion(status);
  if (status == Status::ok) own_ = Node{.name = name, .session = session, .token = token};
  take(fsm_.on_created({status, session, name, token, "said"}, false));
}

void AcquireDriver::answer_counted() {
  const Status status = choose_status();
  const SessionId session = choose_session();
  const FencingToken last = choose_token();
  const int children = static_cast<int>(choices_.below(3)) + (choices_.one_in(64) ? -2 : 0);
  first_ = status == Status::ok && own_ && session == own_->session && children == 1 &&
           last == own_->token;
  const bool lease = choose_lease();
  take(fsm_.on_counted({status, session, last, children}, lease));
}

bool AcquireDriver::says_first(const std::vector<std::string>& children, FencingToken parent,
                               const PermitsAnswer& permits) const {
  if (!own_ || parent > own_->token) return false;
  QueueRule rule = fsm_.present_rule();
  if (rule.shares_count()) {
    const auto number = parse_permit_count(permits.data);
    if (permits.status != Status::ok || !number) return false;
    rule.total = *number;
  }
  const bool waits_for_others = !fsm_.node().at_gate() && !orphans(children).empty();
  return decide(children, own_->name, rule).verdict == Decision::Verdict::first &&
         !waits_for_others;
}

void AcquireDriver::answer_listed() {
  const Status status = choose_status();
  const FencingToken parent = choices_.one_in(8) ? choose_token() : FencingToken{};
  auto children = choose_children(choices_, kMostChildren);
  const bool shown = own_ && !choices_.one_in(8);
  if (shown && std::ranges::find(children, own_->name) == children.end()) {
    children.push_back(own_->name);
  }
  PermitsAnswer permits{
      .status = Status::ok, .session = choose_session(), .data = {}, .detail = {}};
  std::string count;
  if (fsm_.present_rule().shares_count()) {
    permits.status = choose_status();
    count = choose_data();
    permits.data = count;
  }
  const bool enqueuing = fsm_.state() == State::enqueuing;
  if (!enqueuing) note_deletion(status);
  if (status == Status::ok && sort_of(permits.status) != StatusSort::tree_conflict) {
    note_deletion(permits.status);
  }
  if (own_ && fsm_.state() != State::recovering) {
    const bool seen = std::ranges::find(children, own_->name) != children.end();
    if (!seen || parent > own_->token) own_->is_deleted = true;
    first_ = status == Status::ok && says_first(children, parent, permits);
  }
  const bool lease = choose_lease();
  const Sequence next = choose_sequence(choices_);
  take(fsm_.on_listed({status, parent, children, "said", permits, next}, lease));
}

void AcquireDriver::answer_inspected(const AcquireEffect& request) {
  const Status status = choose_status();
  const std::string data = choose_data();
  const SessionId session = choose_session();
  const FencingToken token = choose_token();
  if (status != Status::no_node) note_deletion(status);
  const auto parsed = ZnodeData::parse(data);
  if (status == Status::ok && parsed && parsed->attempt == attempt_ && session == create_session_) {
    own_ = Node{.name = request.text, .session = session, .token = token};
  }
  take(fsm_.on_inspected({status, data, session, token, "said"}));
}

void AcquireDriver::answer_watched(const AcquireEffect& request) {
  const Status status = choose_status();
  const std::string data = choose_data();
  const FencingToken token = choose_token();
  if (status != Status::no_node) note_deletion(status);
  if (status == Status::ok && !fsm_.has_ended()) {
    const auto parsed = ZnodeData::parse(data);
    const auto other = parse_znode_name(request.text);
    const auto own = own_ ? parse_znode_name(own_->name) : std::nullopt;
    const bool fits =
        own && other &&
        (queue_zxid(parsed, token) <= own_->token || own->sequence <= other->sequence);
    const bool one_at_a_time = policy_.rule.access != Access::permits && !fsm_.node().at_gate();
    armed_.push_back({request.text, parsed && parsed->announces && fits && watches_ == 1 &&
                                        one_at_a_time && other->access == Access::exclusive});
  }
  take(fsm_.on_watched(request.text, {status, token, data, "said"}));
}

}  // namespace zklock::fuzz
