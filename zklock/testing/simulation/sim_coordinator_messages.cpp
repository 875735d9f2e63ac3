// SPDX-License-Identifier: Apache-2.0
// The messages that reach the client.
#include <algorithm>

#include "zklock/client/port/request.h"
#include "zklock/client/port/znode_path.h"
#include "zklock/testing/simulation/sim_coordinator.h"

namespace zklock::model {

using client::request::ExistsAndWatch;
using client::request::GetAndWatch;
using client::request::ListAndWatch;

namespace {

/// Returns whether a server sends this status. The client itself produces the other statuses.
bool is_servers_answer(Status status) {
  switch (status) {
    case Status::ok:
    case Status::throttled:
    case Status::no_node:
    case Status::node_exists:
    case Status::not_empty:
    case Status::bad_version:
    case Status::no_auth:
    case Status::auth_failed:
    case Status::invalid_acl:
    case Status::quota_exceeded:
    case Status::read_only:
    case Status::server_error: return true;
    case Status::unknown:
    case Status::session_ended:
    case Status::not_sent:
    case Status::not_connected:
    case Status::closed:
    case Status::too_many_nodes:
    case Status::too_many_watches: return false;
  }
  return false;
}

}  // namespace

// Messages to the client.

void SimCoordinator::receive() {
  if (!can_receive()) return;
  if (const auto* reply = std::get_if<ServerReply>(&to_client_.front());
      reply != nullptr && take_matching(lost_replies_, in_flight_.front())) {
    ++reply_losses_[in_flight_.front().request.operation.index()];
    break_link(OnTheWay::dropped);
    return;
  }
  ToClient message = std::move(to_client_.front());
  to_client_.pop_front();
  std::visit([this](auto& m) { receive_one(m); }, message);
}

void SimCoordinator::receive_one(Connected& message) {
  session_ = message.info.id;
  timeout_ = message.info.timeout;
  clock_.cancel(std::exchange(end_timer_, {}));
  told_connected_ = true;
  last_send_ = own_clock_.now();
  observer_->on_connected(message.info);
  if (!told_connected_) return;
  if (!interests_.empty()) {
    for (const Interest& interest : interests_) {
      if (interest.is_set) armed_[interest.watch] = interest.absent;
    }
    to_server_.emplace_back(SetWatches{last_zxid_, armed_});
  }
  flush_held();
  gate_open_ = true;
  ping_at(last_send_ + options_.session_timeout / 3);
}

void SimCoordinator::receive_one(const Refused& message) {
  link_ = Link::down;
  end_session(message.session);
  begin_attempt();
}

void SimCoordinator::end_session(SessionId session) {
  clock_.cancel(std::exchange(end_timer_, {}));
  session_ = {};
  interests_.clear();
  last_zxid_ = 0;
  observer_->on_ended(session, Status::session_ended);
  for (auto pending = held_.begin(); pending != held_.end();) {
    if (pending->request.session != session) {
      ++pending;
      continue;
    }
    answer_locally(std::move(*pending), Status::session_ended);
    pending = held_.erase(pending);
  }
}

void SimCoordinator::end_overdue_session() {
  end_timer_ = {};
  drop_network(OnTheWay::dropped);
  link_ = Link::down;
  end_session(session_);
}

// This state is final.
void SimCoordinator::receive_one(AuthFailed) {
  refused_ = true;
  drop_network(OnTheWay::dropped);
  link_ = Link::refused;
  gate_open_ = told_connected_ = false;
  interests_.clear();
  clock_.cancel(std::exchange(end_timer_, {}));
  const SessionId session = std::exchange(session_, {});
  observer_->on_ended(session, Status::auth_failed);
  for (auto* queue : {&in_flight_, &held_}) {
    for (Pending& pending : std::exchange(*queue, {})) {
      answer_locally(std::move(pending), Status::auth_failed);
    }
  }
}

void SimCoordinator::receive_one(ServerReply& message) {
  Pending pending = std::move(in_flight_.front());
  in_flight_.pop_front();
  --served_;
  last_zxid_ = message.zxid;
  Reply& reply = message.reply;
  const bool is_refused = reply.status == Status::no_auth;
  const OperationKind kind = kind_of(pending.request.operation);
  // The server refuses only an existing znode, so the refusal is the answer.
  const bool is_refused_exists = is_refused && kind == OperationKind::exists_and_watch;
  if (is_refused_exists) {
    reply.status = Status::ok;
    pending.unreadable = true;
  }
  reply.unreadable = pending.unreadable;
  if (const auto watch = watch_of(pending.request)) {
    if (arms(pending.request, reply.status)) {
      const bool absent = reply.status == Status::no_node;
      if (!is_refused_exists) armed_[*watch] = absent;
      auto on_event = take_on_event(pending.request);
      if (!pending.unwatched && !(pending.unreadable && absent)) {
        interests_.push_back({.id = pending.id,
                              .watch = *watch,
                              .absent = absent,
                              .unreadable = pending.unreadable,
                              .is_set = !is_refused_exists,
                              .on_event = std::move(on_event)});
        if (pending.unreadable) check_presence_later();
      }
    }
    drop_watch_if_unused(*watch);
  }
  if (is_servers_answer(reply.status) && !pending.follows) {
    observer_->on_answered(reply.session, reply.sent_at, message.by);
  }
  if (is_refused && kind == OperationKind::get_and_watch) {
    ask_existence(std::move(pending));
  } else {
    pending.handler(std::move(reply));
  }
  if (ping_overdue_) ping_when_idle();
}

void SimCoordinator::receive_one(const Event& message) {
  const auto is_for = [&message](const Watch& watch) {
    return watch.path == message.path && concerns(message.event, watch.kind);
  };
  std::erase_if(armed_, [&is_for](const auto& armed) { return is_for(armed.first); });
  // One at a time, because a handler can end the interest of another.
  for (;;) {
    const auto interest = std::find_if(interests_.begin(), interests_.end(),
                                       [&is_for](const Interest& i) { return is_for(i.watch); });
    if (interest == interests_.end()) return;
    const auto on_event = std::move(interest->on_event);
    interests_.erase(interest);
    on_event(session_, message.event);
  }
}

void SimCoordinator::receive_one(ClosedByServer) {
  break_link(OnTheWay::dropped);
  begin_attempt();
}

void SimCoordinator::receive_one(const Suspended& message) {
  if (message.session == session_ && !told_connected_) {
    clock_.cancel(end_timer_);
    end_timer_ = own_clock_.at(own_clock_.now() + timeout_, [this] { end_overdue_session(); });
  }
  observer_->on_suspended(message.session);
}

void SimCoordinator::receive_one(LocalReply& message) {
  Reply reply;
  reply.status = message.status;
  reply.session = message.pending.session;
  reply.sent_at = message.pending.sent_at;
  reply.detail = message.detail;
  message.pending.handler(std::move(reply));
}

}  // namespace zklock::model
