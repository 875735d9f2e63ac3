// SPDX-License-Identifier: Apache-2.0
// The replies of the ensemble in a random walk.
#include <cstdint>
#include <limits>
#include <string>

#include "acquire_walk.h"

namespace zklock::core::acquire_test {

// ---- replies -----------------------------------------------------------------------------------

/// Returns the status of a request, or Status::ok if the ensemble decides it.
Status Walk::trouble(const AcquireEffect& request) {
  if (request.session.value != 0 && request.session != session_) return Status::session_ended;
  if (calm_ || !one_in(4)) return Status::ok;
  if (one_in(12)) {
    constexpr Status kFatal[] = {Status::closed, Status::no_auth, Status::quota_exceeded,
                                 Status::server_error, Status::read_only};
    return kFatal[below(5)];
  }
  return one_in(3) ? Status::throttled : Status::unknown;
}

void Walk::answer() {
  // Replies to several watches can arrive in any order.
  const bool watches = outstanding_.front().kind == Kind::watch;
  const int which = watches ? below(static_cast<int>(outstanding_.size())) : 0;
  const AcquireEffect request = outstanding_[static_cast<std::size_t>(which)];
  outstanding_.erase(outstanding_.begin() + which);
  const Status status = trouble(request);
  switch (request.kind) {
    case Kind::create:
      if (!outstanding_.empty() || !fsm_.is_counting_children()) return answer_create(status);
      return shares_count() ? answer_first_list(status) : answer_count(status);
    case Kind::move: return answer_move(status);
    case Kind::create_parents: return answer_parents(status);
    case Kind::list: return answer_list(status);
    case Kind::create_count: return answer_count_create(request, status);
    case Kind::mark: return answer_mark(request, status);
    case Kind::clear: return answer_clear(request, status);
    case Kind::inspect: return answer_inspect(request, status);
    case Kind::watch: return answer_watch(request, status);
    case Kind::check_path:
    case Kind::check_own: return answer_check(request, status);
    case Kind::remove_path: return answer_remove_parent(request, status);
    default: return blame("no request");
  }
}

/// The counter stays at its end.
void Walk::count_up() {
  if (next_sequence_ < std::numeric_limits<std::int32_t>::max()) ++next_sequence_;
}

/// Children of one number and different prefixes can exist beside each other. Here they cannot, so
/// the counter passes them.
void Walk::pass_other_names(std::string_view prefix) {
  constexpr auto kLast = std::numeric_limits<std::int32_t>::max();
  for (auto other = nodes_.find(next_sequence_);
       other != nodes_.end() && next_sequence_ != kLast &&
       other->second.name != ZnodeName::make(prefix, {next_sequence_}).text;
       other = nodes_.find(next_sequence_)) {
    count_up();
  }
}

/// Returns the status of the reply. Sets the name of `made` if the znode was created.
Status Walk::answer_new_node(Status status, Node& made) {
  if (abandoned_ && one_in(2)) status = Status::not_sent;
  const std::string prefix = fsm_.present_rule().prefix();
  pass_other_names(prefix);
  const bool exists = nodes_.contains(next_sequence_);
  if (status == Status::ok && !parent_) status = Status::no_node;
  if (status == Status::ok && exists) status = Status::node_exists;
  const bool may_be = status == Status::unknown && parent_ && !exists && one_in(2);
  made.attempt = attempt_;
  made.session = session_;
  made.zxid = ++zxid_;
  made.known = status == Status::ok;
  if (status != Status::ok && !may_be) return status;
  made.name = ZnodeName::make(prefix, {next_sequence_}).text;
  nodes_[next_sequence_] = made;
  count_up();
  return status;
}

void Walk::answer_create(Status status) {
  const SessionId on = session_;
  Node made;
  status = answer_new_node(status, made);
  const std::string name = status == Status::ok ? made.name : "";
  const bool alone =
      status == Status::ok && nodes_.begin()->second.name == name && orphans(children()).empty();
  const bool known = alone && !fsm_.is_counting_children() && one_in(2);
  if (known) first_ = true;
  take(fsm_.on_created({status, on, name, {made.zxid}, "", known}, lease_valid()));
}

void Walk::answer_move(Status status) {
  ++counts_.moves;
  const auto own = find_own();
  if (status == Status::ok && own == nodes_.end()) status = Status::no_node;
  const bool can_be = own != nodes_.end();
  const int left = can_be ? own->first : 0;
  Node made;
  if (can_be || status != Status::unknown) status = answer_new_node(status, made);
  if (!made.name.empty()) {
    nodes_.erase(left);
    first_ = false;
  }
  const std::string name = status == Status::ok ? made.name : "";
  take(fsm_.on_created({status, session_, name, {made.zxid}, ""}, false));
}

void Walk::answer_count(Status status) {
  if (abandoned_ && one_in(2)) status = Status::not_sent;
  const int count = static_cast<int>(nodes_.size() + markers_.size());
  if (status == Status::ok && !parent_) status = Status::no_node;
  const auto own = find_own();
  const bool alone = count == 1 && own != nodes_.end();
  if (status == Status::ok && alone && session_ == fsm_.node().session()) first_ = true;
  // An earlier create changed the parent before the count, unless this contender enqueued last.
  const std::int64_t last = alone && !one_in(4) ? own->second.zxid : zxid_ + 1;
  take(fsm_.on_counted({status, session_, {last}, count}, lease_valid()));
}

void Walk::answer_parents(Status status) {
  parent_ = parent_ || status == Status::ok || (status == Status::unknown && one_in(2));
  take(fsm_.on_done({status, ""}));
}

void Walk::answer_list(Status status) {
  const bool recovers = fsm_.state() == State::recovering;
  // The delete of the znode was sent before the list, on this connection.
  if (fsm_.state() == State::draining) {
    std::erase_if(nodes_, [](const auto& each) { return each.second.removes > 0; });
  }
  if (status == Status::ok && !parent_) status = Status::no_node;
  const Children seen = children();
  const auto other = nodes_.find(next_sequence_);
  is_next_name_taken_ = other != nodes_.end() && !other->second.ours() &&
                        other->second.name.starts_with(prefix_of_create());
  if (shares_count() && !calm_ && one_in(3)) event_between();
  if (status == Status::ok && !recovers && find_own() != nodes_.end() && is_first()) first_ = true;
  if (status != Status::ok && recovers) fate_open_ = true;
  const PermitsAnswer count =
      count_answer(trouble({.kind = Kind::list, .session = fsm_.node().session()}));
  take(fsm_.on_listed({status, {}, seen, "", count, {next_sequence_}}, lease_valid()));
  if (!over_) fate_open_ = false;
}

// The list that is sent with the create. The session can end between their replies.
void Walk::answer_first_list(Status status) {
  if (abandoned_ && one_in(2)) status = Status::not_sent;
  if (status == Status::ok && !parent_) status = Status::no_node;
  const Children seen = children();
  if (!calm_ && one_in(3)) event_between();
  if (session_ == fsm_.node().session() && find_own() != nodes_.end() && is_first()) first_ = true;
  take(fsm_.on_listed({status,
                       {},
                       seen,
                       "",
                       count_answer(abandoned_ && one_in(2) ? Status::not_sent : trouble({}))},
                      lease_valid()));
}

// Between the list and the read of the count, contenders leave and the count changes.
void Walk::event_between() {
  if (parent_ && one_in(2)) all_permits_ = below(6);
  if (!nodes_.empty() && !nodes_.begin()->second.ours()) nodes_.erase(nodes_.begin());
}

PermitsAnswer Walk::count_answer(Status status) {
  if (status == Status::ok && !all_permits_) status = Status::no_node;
  count_data_ = status == Status::ok ? std::to_string(*all_permits_) : "";
  return {.status = status, .session = session_, .data = count_data_, .detail = {}};
}

void Walk::answer_count_create(const AcquireEffect& request, Status status) {
  if (request.text != std::to_string(initial())) blame("it puts another number there");
  const bool is_done = status == Status::ok || (status == Status::unknown && one_in(2));
  if (is_done && all_permits_) status = status == Status::ok ? Status::node_exists : status;
  if (is_done && !parent_) status = status == Status::ok ? Status::no_node : status;
  if (is_done && parent_ && !all_permits_) {
    all_permits_ = initial();
    ++counts_.seeds;
  }
  take(fsm_.on_done({status, ""}));
}

void Walk::answer_mark(const AcquireEffect& request, Status status) {
  const bool there = find_own() != nodes_.end();
  const bool is_done = status == Status::ok || (status == Status::unknown && one_in(2));
  if (status == Status::ok && !there) status = Status::no_node;
  if (is_done && there && !unmarked_.contains(request.text) &&
      !markers_.emplace(request.text, session_).second) {
    status = status == Status::ok ? Status::node_exists : status;
  }
  ++counts_.marks;
  take(fsm_.on_done({status, ""}, lease_valid()));
}

void Walk::answer_clear(const AcquireEffect& request, Status status) {
  const bool there = find_own() != nodes_.end();
  const bool is_done = status == Status::ok || (status == Status::unknown && one_in(2));
  if (status == Status::ok && !there) status = Status::no_node;
  if (is_done && there && markers_.erase(request.text) == 0) {
    status = status == Status::ok ? Status::no_node : status;
  }
  take(fsm_.on_done({status, ""}));
}

void Walk::answer_inspect(const AcquireEffect& request, Status status) {
  const auto found = find(request.text);
  if (status == Status::ok && found == nodes_.end()) status = Status::no_node;
  // The client can read its own znodes.
  if (status == Status::no_auth && found != nodes_.end() && found->second.ours()) {
    status = Status::server_error;
  }
  InspectedAnswer answer{
      .status = status, .data = {}, .ephemeral_owner = {}, .token = {}, .detail = {}};
  std::string data;
  if (status == Status::ok) {
    Node& node = found->second;
    data = data_of(node.attempt, node.announces);
    answer.data = data;
    answer.ephemeral_owner = node.ours() ? node.session : SessionId{-5};
    answer.token = {node.zxid};
    if (node.ours() && node.attempt == attempt_) {
      node.known = true;
      ++counts_.adopted;
    }
  } else if (status != Status::no_node) {
    fate_open_ = true;
  }
  take(fsm_.on_inspected(answer));
  if (!over_) fate_open_ = false;
}

void Walk::answer_watch(const AcquireEffect& request, Status status) {
  if (request.text == kCountNode) {
    const PermitsAnswer count = count_answer(status);
    if (count.status == Status::ok && !over_) watches_count_ = true;
    return take(fsm_.on_watched(kCountNode, {count.status, {}, count.data, ""}));
  }
  const auto found = find(request.text);
  if (status == Status::ok && found == nodes_.end()) status = Status::no_node;
  std::string data;
  if (status == Status::ok) {
    data = data_of(found->second.attempt, found->second.announces);
    if (!over_ && !watched_.insert(found->first).second) blame("it watches one twice");
    watch_is_trusted_ = found->second.announces;
  }
  last_watch_ = request.text;
  take(fsm_.on_watched(request.text, {status, {}, data, ""}));
}

void Walk::answer_check(const AcquireEffect& request, Status status) {
  const bool proves = request.kind == Kind::check_path;
  const bool there = proves ? parent_ : find_own() != nodes_.end();
  if (status == Status::ok && !there) status = Status::no_node;
  if (proves && status != Status::ok && status != Status::no_node) fate_open_ = true;
  take(fsm_.on_done({status, ""}, lease_valid()));
  if (!over_) fate_open_ = false;
}

void Walk::answer_remove_parent(const AcquireEffect& request, Status status) {
  // The delete of the znode was sent before this request, on this connection.
  std::erase_if(nodes_, [](const auto& each) { return each.second.removes > 0; });
  const bool with_count = !request.text.empty();
  const bool has_count = shares_count() && all_permits_;
  if (status == Status::ok && (!parent_ || (with_count && !has_count))) status = Status::no_node;
  if (status == Status::ok && with_count && one_in(4)) status = Status::bad_version;
  const bool is_empty =
      nodes_.empty() && markers_.empty() && !has_config_ && with_count == has_count;
  if (status == Status::ok && !is_empty) status = Status::not_empty;
  if (status == Status::ok || (status == Status::unknown && is_empty && one_in(2))) {
    parent_ = with_count;
    next_sequence_ = with_count ? 1 : 0;
  }
  take(fsm_.on_done({status, ""}));
}

}  // namespace zklock::core::acquire_test
