// SPDX-License-Identifier: Apache-2.0
// The server's end of a simulated connection, and its faults.
#include <algorithm>
#include <utility>

#include "zklock/testing/simulation/sim_coordinator.h"

namespace zklock::model {

namespace {

/// Returns whether one server alone can send this status, even for a quorum operation.
bool is_from_one_server(Status status) {
  return status == Status::throttled || status == Status::read_only ||
         status == Status::auth_failed || status == Status::server_error;
}

/// Returns whether one server may have refused a single create or delete because of an ACL.
bool is_refused_by_acl(Status status) {
  return status == Status::no_auth || status == Status::invalid_acl;
}

}  // namespace

bool SimCoordinator::can_serve() const noexcept {
  if (to_server_.empty() || cut_off_ || (link_ != Link::up && link_ != Link::opening)) return false;
  const bool leader_is_paused = ensemble_.is_leader_paused();
  if (!isolated_ && !leader_is_paused) return true;
  if (leader_is_paused && is_on_leader()) return false;
  // A message behind a request for the leader waits for it.
  if (std::holds_alternative<Handshake>(to_server_.front())) return false;
  if (!std::holds_alternative<NextRequest>(to_server_.front())) return true;
  const AnsweredBy by = answered_by(kind_of(in_flight_[served_].request.operation));
  return by == AnsweredBy::server || (by == AnsweredBy::leader && isolated_ && has_old_leader_);
}

bool SimCoordinator::wants_new_session() const noexcept {
  if (to_server_.empty()) return false;
  const auto* const handshake = std::get_if<Handshake>(&to_server_.front());
  return handshake != nullptr && handshake->wanted == SessionId{};
}

void SimCoordinator::serve() {
  if (!can_serve()) return;
  const ToServer message = std::move(to_server_.front());
  to_server_.pop_front();
  std::visit([this](const auto& m) { serve_one(m); }, message);
}

void SimCoordinator::serve_one(const Handshake& handshake) {
  // Every server of the ensemble rejects a client that has seen a later zxid. It closes the
  // connection without a reply.
  if (handshake.last_zxid > ensemble_.last_zxid()) return break_link(OnTheWay::dropped);
  // The session has moved, so requests that arrive through the old server are rejected. A session
  // that the client itself has ended does not move.
  if (handshake.wanted != SessionId{}) late_.clear();
  if (handshake.wanted != SessionId{} && !ensemble_.is_alive(handshake.wanted)) {
    link_ = Link::refused;
    to_client_.emplace_back(Refused{handshake.wanted});
    return;
  }
  const bool is_new = handshake.wanted == SessionId{};
  if (is_new) catch_up();
  server_session_ =
      is_new ? ensemble_.open_session(options_.session_timeout, credential_) : handshake.wanted;
  ensemble_.set_timeout(server_session_, options_.session_timeout);
  ensemble_.touch(server_session_);  // by the leader itself, not relayed
  link_ = Link::up;
  to_client_.emplace_back(
      Connected{{server_session_, options_.session_timeout, handshake.began, is_new}});
  if (credential_is_bad_) to_client_.emplace_back(AuthFailed{});
}

void SimCoordinator::serve_one(NextRequest) {
  const OperationKind kind = kind_of(in_flight_[served_].request.operation);
  if (take_matching(lost_requests_, in_flight_[served_])) {
    ++request_losses_[index(kind)];
    break_link(OnTheWay::dropped);
    return;
  }
  if (stale_ && answered_by(kind) != AnsweredBy::server) catch_up();
  if (link_ != Link::up) return;  // the session has ended meanwhile
  touch();
  ServerReply reply = answer(in_flight_[served_]);
  reply.zxid = server_zxid();
  send_to_client(std::move(reply));
  ++served_;
  ++served_in_all_;
}

SimCoordinator::ServerReply SimCoordinator::answer(const Pending& pending) {
  const Operation& operation = pending.request.operation;
  const OperationKind kind = kind_of(operation);
  const auto injected =
      std::find_if(injected_.begin(), injected_.end(),
                   [&pending](const Injected& i) { return is_hit(i.kinds, pending); });
  const auto carry_out = [&] {
    return is_quorum_operation(kind)
               ? execute(pending, server_session_)
               : read(server_tree(), operation, credential_, ensemble_.exists_rule());
  };
  ServerReply answered;
  Reply& reply = answered.reply;
  answered.by = answered_by(kind);
  if (injected == injected_.end()) {
    reply = carry_out();
    const auto watch = watch_of(pending.request);
    if (watch && arms(pending.request, reply.status)) watches_.insert(*watch);
  } else {
    if (injected->carried_out) carry_out();
    reply.status = injected->status;
    if (is_from_one_server(reply.status)) answered.by = AnsweredBy::server;
    injected_.erase(injected);
  }
  const bool is_single = pending.last_level || kind == OperationKind::create_contender ||
                         kind == OperationKind::remove;
  if (is_single && is_refused_by_acl(reply.status)) answered.by = AnsweredBy::server;
  reply.session = pending.session;
  reply.sent_at = pending.sent_at;
  return answered;
}

Reply SimCoordinator::execute(const Pending& pending, SessionId session) {
  const Operation& operation = pending.request.operation;
  if (!pending.last_level) return ensemble_.apply(session, operation);
  return ensemble_.create_path(session, std::get<client::request::CreateParents>(operation).path);
}

void SimCoordinator::serve_one(const RemoveWatch& request) {
  touch();
  watches_.erase(request.watch);
}

void SimCoordinator::serve_one(const SetWatches& request) {
  touch();
  for (const auto& [watch, absent] : request.watches) {
    const Node* node = server_tree().find(watch.path);
    if (const auto event = missed_event(node, watch, absent, request.last_zxid)) {
      to_client_.emplace_back(Event{watch.path, *event});
    } else {
      watches_.insert(watch);
    }
  }
}

std::optional<WatchEvent> SimCoordinator::missed_event(const Node* node, const Watch& watch,
                                                       bool absent, std::int64_t last_zxid) {
  if (absent) return node == nullptr ? std::nullopt : std::optional(WatchEvent::created);
  if (node == nullptr) return WatchEvent::deleted;
  switch (watch.kind) {
    case WatchKind::data:
      if (node->mzxid > last_zxid) return WatchEvent::changed;
      break;
    case WatchKind::children:
      if (node->pzxid > last_zxid) return WatchEvent::children;
      break;
  }
  return std::nullopt;
}

void SimCoordinator::arrive_late() {
  if (!can_arrive_late()) return;
  const Pending pending = std::move(late_.front());
  late_.pop_front();
  // The reply has no receiver. An ended session executes nothing.
  execute(pending, pending.session);
}

void SimCoordinator::on_node_event(const std::string& path, WatchEvent event, const NodeAcl& acl) {
  if (stale_) {
    missed_.push_back({path, event, acl});
  } else {
    fire(path, event, acl);
  }
}

void SimCoordinator::fire(const std::string& path, WatchEvent event, const NodeAcl& acl) {
  const auto fired = std::erase_if(watches_, [&](const Watch& watch) {
    return watch.path == path && concerns(event, watch.kind);
  });
  if (fired > 0 && acl.allows(AclEntry::read, credential_)) send_to_client(Event{path, event});
}

void SimCoordinator::on_session_gone(SessionId session) {
  if (link_ != Link::up || session != server_session_ || stale_) return;
  watches_.clear();
  link_ = Link::closed;
  send_to_client(ClosedByServer{});
}

void SimCoordinator::touch() {
  if (isolated_ || (is_on_leader() && ensemble_.is_leader_paused())) {
    touch_waits_ = true;
  } else if (is_on_leader()) {
    ensemble_.touch(server_session_);
  } else if (!std::exchange(touch_waits_, true)) {
    relay_touch();
  }
}

void SimCoordinator::relay_touch() {
  if (relay_timer_ != TimerId{}) return;
  // A touch at the exact time of a relay waits for the next relay.
  const Duration interval = options_.relay_interval;
  const Duration passed = (clock_.now().time_since_epoch() - options_.relay_phase) % interval;
  const Duration wait = (passed < Duration::zero() ? -passed : interval - passed) + next_jitter();
  relay_touch_at(clock_.now() + wait);
}

void SimCoordinator::relay_touch_at(Instant when) {
  relay_timer_ = clock_.at(when, [this] {
    relay_timer_ = {};
    if (isolated_ || ensemble_.is_leader_paused()) return;
    if (std::exchange(touch_waits_, false)) ensemble_.touch(server_session_);
  });
}

// The leader's next session request, which was due during the pause.
void SimCoordinator::on_leader_resumed() {
  if (link_ != Link::up || isolated_ || !touch_waits_ || relay_timer_ != TimerId{}) return;
  relay_touch_at(clock_.now() + next_jitter());
}

void SimCoordinator::stay_behind() {
  if (stale_) return;
  stale_ = ensemble_.tree();
  stale_zxid_ = ensemble_.last_zxid();
}

void SimCoordinator::catch_up() {
  if (!stale_ || isolated_) return;
  stale_.reset();
  for (const MissedEvent& missed : std::exchange(missed_, {})) {
    fire(missed.path, missed.event, missed.acl);
  }
  if (link_ == Link::up && !ensemble_.is_alive(server_session_)) on_session_gone(server_session_);
}

// Faults.

void SimCoordinator::disconnect(OnTheWay on_the_way) {
  break_link(on_the_way);
}

void SimCoordinator::reconnect() {
  begin_attempt();
}

void SimCoordinator::expire() {
  ensemble_.end_session(link_ == Link::up ? server_session_ : session_);
}

void SimCoordinator::isolate(bool with_old_leader) {
  if (link_ != Link::up && link_ != Link::opening) return;
  stay_behind();
  isolated_ = true;
  has_old_leader_ = with_old_leader;
}

void SimCoordinator::heal(Relay relay) {
  if (!std::exchange(isolated_, false)) return;
  catch_up();
  if (link_ != Link::up || !std::exchange(touch_waits_, false)) return;
  if (relay == Relay::at_once) return ensemble_.touch(server_session_);
  touch();
}

void SimCoordinator::lag() {
  stay_behind();
}

void SimCoordinator::cut_off() {
  if (link_ != Link::down) cut_off_ = true;
}

void SimCoordinator::mend() {
  if (!std::exchange(cut_off_, false)) return;
  for (ToClient& message : stuck_) to_client_.push_back(std::move(message));
  stuck_.clear();
  if (std::exchange(ping_is_stuck_, false) && link_ == Link::up) touch();
}

bool SimCoordinator::say_children_changed() {
  const auto watch = std::find_if(watches_.begin(), watches_.end(), [](const Watch& each) {
    return each.kind == WatchKind::children;
  });
  if (link_ != Link::up || watch == watches_.end()) return false;
  send_to_client(Event{watch->path, WatchEvent::children});
  watches_.erase(watch);
  return true;
}

void SimCoordinator::clear_faults() {
  lost_replies_.clear();
  lost_requests_.clear();
  injected_.clear();
}

void SimCoordinator::send_to_client(ToClient message) {
  if (cut_off_) {
    stuck_.push_back(std::move(message));
  } else {
    to_client_.push_back(std::move(message));
  }
}

Duration SimCoordinator::next_jitter() {
  if (options_.relay_jitter == Duration::zero()) return {};
  jitter_ = jitter_ * 6'364'136'223'846'793'005U + 1'442'695'040'888'963'407U;
  return options_.relay_jitter * static_cast<std::int64_t>(jitter_ >> 44U) / (1 << 20);
}

void SimCoordinator::pause() {
  paused_ = true;
  clock_.hold(process_);
}

void SimCoordinator::resume() {
  paused_ = false;
  clock_.release(process_);
}

}  // namespace zklock::model
