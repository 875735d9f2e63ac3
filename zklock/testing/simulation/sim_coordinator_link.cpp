// SPDX-License-Identifier: Apache-2.0
// The client's end of a simulated connection.
#include <algorithm>
#include <chrono>
#include <set>
#include <string>
#include <utility>

#include "zklock/testing/simulation/sim_coordinator.h"

namespace zklock::model {

std::string SimCoordinator::connection_problem() const {
  if (refused_) return "the servers refused the credential";
  switch (link_) {
    case Link::down: return closed_ ? "closed" : "the network is down";
    case Link::opening: return "waiting for a server";
    case Link::up: return {};
    case Link::refused: return "the session has expired";
    case Link::closed: return "the server closed the connection";
  }
  return {};
}

void SimCoordinator::begin_attempt() {
  if (link_ != Link::down || closed_ || observer_ == nullptr) return;
  link_ = Link::opening;
  to_server_.emplace_back(Handshake{session_, own_clock_.now(), last_zxid_});
}

void SimCoordinator::break_link(OnTheWay on_the_way) {
  if (link_ == Link::down || refused_) return;
  drop_network(on_the_way);
  link_ = Link::down;
  gate_open_ = false;
  if (!std::exchange(told_connected_, false)) return;
  disconnected_since_ = own_clock_.now();
  to_client_.emplace_back(Suspended{session_});
  for (Pending& pending : in_flight_) {
    answer_locally(std::move(pending), Status::unknown, "the connection broke");
  }
  in_flight_.clear();
}

void SimCoordinator::drop_network(OnTheWay on_the_way) {
  if (on_the_way == OnTheWay::linger && link_ == Link::up) {
    for (std::size_t i = served_; i < in_flight_.size(); ++i) {
      Pending copy;
      copy.session = in_flight_[i].session;
      copy.request = in_flight_[i].request;
      late_.push_back(std::move(copy));
    }
  }
  to_server_.clear();
  std::erase_if(to_client_, [](const ToClient& message) {
    return !std::holds_alternative<Suspended>(message) &&
           !std::holds_alternative<LocalReply>(message);
  });
  served_ = 0;
  watches_.clear();
  armed_.clear();
  stuck_.clear();
  cut_off_ = ping_is_stuck_ = false;
  if (std::exchange(isolated_, false)) {  // the next server reaches the quorum
    stale_.reset();
    missed_.clear();
  }
  touch_waits_ = ping_overdue_ = false;
  clock_.cancel(std::exchange(relay_timer_, {}));
  clock_.cancel(std::exchange(ping_timer_, {}));
}

// Once in a second, as the real coordinator does.
void SimCoordinator::check_presence_later() {
  if (presence_timer_ != TimerId{}) return;
  presence_timer_ = own_clock_.at(own_clock_.now() + std::chrono::seconds(1), [this] {
    presence_timer_ = {};
    check_presence();
  });
}

// The server may still have a watch of the path, which an exists without a znode has set.
void SimCoordinator::on_absent(const std::string& path) {
  for (;;) {
    const auto interest =
        std::find_if(interests_.begin(), interests_.end(),
                     [&path](const Interest& i) { return i.unreadable && i.watch.path == path; });
    if (interest == interests_.end()) return;
    const Watch watch = interest->watch;
    const auto on_event = std::move(interest->on_event);
    interests_.erase(interest);
    drop_watch_if_unused(watch);
    on_event(session_, WatchEvent::deleted);
  }
}

void SimCoordinator::check_presence() {
  std::set<std::string> paths;
  for (const Interest& interest : interests_) {
    if (interest.unreadable) paths.insert(interest.watch.path);
  }
  if (paths.empty()) return;
  for (const std::string& path : paths) {
    if (!gate_open_) break;
    Pending pending;
    pending.id = RequestId{++last_id_};
    pending.request.operation = client::request::Exists{path};
    pending.handler = [this, path](const Reply& reply) {
      if (reply.status == Status::no_node) on_absent(path);
    };
    send(std::move(pending));
  }
  check_presence_later();
}

void SimCoordinator::ping_at(Instant when) {
  ping_timer_ = own_clock_.at(when, [this] {
    ping_timer_ = {};
    ping_when_idle();
  });
}

void SimCoordinator::ping_when_idle() {
  const Instant due = last_send_ + options_.session_timeout / 3;
  ping_overdue_ = false;
  if (own_clock_.now() < due) {
    ping_at(due);
  } else if (!in_flight_.empty()) {
    ping_overdue_ = true;  // not while a request is outstanding
  } else {
    last_send_ = own_clock_.now();
    if (link_ == Link::up) cut_off_ ? void(ping_is_stuck_ = true) : touch();
    ping_at(last_send_ + options_.session_timeout / 3);
  }
}

}  // namespace zklock::model
