// SPDX-License-Identifier: Apache-2.0
#include "zklock/testing/simulation/sim_coordinator.h"

#include <algorithm>
#include <memory>
#include <new>
#include <numeric>

#include "zklock/client/port/request.h"
#include "zklock/client/port/znode_path.h"

namespace zklock::model {

using client::request::CreateContender;
using client::request::CreateParents;
using client::request::Exists;
using client::request::ExistsAndWatch;
using client::request::GetAndWatch;
using client::request::ListAndWatch;

namespace {

/// Returns whether the client rejects the operation and sends nothing. The C client rejects invalid
/// paths, and the coordinator rejects an empty transaction.
bool is_refused_unsent(const client::Operation& operation) {
  using client::is_valid_path;
  return !std::visit(Overloaded{
                         [](const client::request::CreateContender& r) {
                           return is_valid_path(client::join(r.parent, r.prefix + "0"));
                         },
                         [](const client::request::Transaction& r) {
                           const auto is_valid = [](const client::request::Write& write) {
                             return is_valid_path(client::path_of(write));
                           };
                           if (r.guard.empty()) {
                             return !r.writes.empty() && std::ranges::all_of(r.writes, is_valid);
                           }
                           return is_valid_path(r.guard) && std::ranges::all_of(r.writes, is_valid);
                         },
                         [](const auto& r) { return is_valid_path(r.path); },
                     },
                     operation);
}

}  // namespace

std::optional<Watch> SimCoordinator::watch_of(const Request& request) {
  return std::visit(Overloaded{
                        [](const GetAndWatch& r) { return std::optional(Watch{r.path}); },
                        [](const ExistsAndWatch& r) { return std::optional(Watch{r.path}); },
                        [](const ListAndWatch& r) {
                          return std::optional(Watch{r.path, WatchKind::children});
                        },
                        [](const auto& /*watches nothing*/) { return std::optional<Watch>(); },
                    },
                    request.operation);
}

client::request::OnWatchEvent SimCoordinator::take_on_event(Request& request) {
  return std::visit(
      [](auto& r) -> client::request::OnWatchEvent {
        if constexpr (requires { r.on_event; }) return std::move(r.on_event);
        return {};
      },
      request.operation);
}

bool SimCoordinator::arms(const Request& request, Status status) {
  return status == Status::ok ||
         (status == Status::no_node && std::holds_alternative<ExistsAndWatch>(request.operation));
}

SimCoordinator::SimCoordinator(SimClock& clock, SimEnsemble& ensemble, Process process,
                               ClientOptions options)
    : clock_(clock),
      ensemble_(ensemble),
      process_(process),
      credential_(ensemble.new_credential()),
      options_(options),
      own_clock_(clock, process, options.drift),
      jitter_(process) {
  ensemble_.attach(*this);
}

void SimCoordinator::start(client::SessionObserver& observer) {
  observer_ = &observer;
  begin_attempt();
}

// Submission. These functions only queue requests.

RequestId SimCoordinator::submit(Request request, client::ReplyHandler handler) {
  Pending pending;
  pending.id = RequestId{++last_id_};
  pending.request = std::move(request);
  pending.handler = std::move(handler);
  const RequestId id = pending.id;
  const auto* const create = std::get_if<CreateContender>(&pending.request.operation);
  if (create != nullptr && (create->counts || create->makes_path)) {
    submit_parts(std::move(pending));
  } else {
    accept(std::move(pending));
  }
  return id;
}

/// Sends two or three messages with one id, as the real coordinator does. The count is answered
/// last.
void SimCoordinator::submit_parts(Pending create) {
  struct Parts {
    client::ReplyHandler handler;
    bool made_path = false;
    Reply created = {};
    void end(const Reply& parent) {
      created.parent = std::make_shared<const Reply>(parent);
      handler(std::move(created));
    }
  };
  const auto operation = std::get<CreateContender>(create.request.operation);
  const auto parts = std::make_shared<Parts>(Parts{std::move(create.handler)});
  const auto make_part = [&create](Operation part, client::ReplyHandler handler) {
    Pending pending;
    pending.id = create.id;
    pending.request = create.request;
    pending.request.operation = std::move(part);
    pending.handler = std::move(handler);
    return pending;
  };
  Pending count =
      make_part(Exists{operation.parent}, [parts](const Reply& parent) { parts->end(parent); });
  count.follows = true;
  create.handler = [parts, counts = operation.counts,
                    makes_path = operation.makes_path](const Reply& created) {
    parts->created = created;
    parts->created.path_existed = makes_path && created.status == Status::ok && !parts->made_path;
    if (!counts) parts->handler(std::move(parts->created));
  };
  if (operation.makes_path) {
    Pending path = make_part(CreateParents{operation.parent}, [parts](const Reply& made) {
      parts->made_path = made.status == Status::ok;
    });
    path.last_level = true;
    accept(std::move(path));
  }
  accept(std::move(create));
  if (operation.counts) accept(std::move(count));
}

void SimCoordinator::accept(Pending pending) {
  ++counts_[pending.request.operation.index()];
  const SessionId bound = pending.request.session;
  if (closed_) {
    answer_locally(std::move(pending), Status::closed);
  } else if (bound != SessionId{} && bound != session_) {
    answer_locally(std::move(pending), Status::session_ended);
  } else if (refused_) {
    answer_locally(std::move(pending), Status::auth_failed);
  } else if (gate_open_) {
    send(std::move(pending));
  } else if (pending.request.fail_if_disconnected) {
    answer_locally(std::move(pending), Status::not_sent);
  } else {
    hold(std::move(pending));
  }
}

void SimCoordinator::send(Pending pending) {
  if (is_refused_unsent(pending.request.operation)) {
    return answer_locally(std::move(pending), Status::server_error, "refused by the client");
  }
  pending.session = session_;
  pending.sent_at = last_send_ = own_clock_.now();
  to_server_.emplace_back(NextRequest{});
  try {
    in_flight_.push_back(std::move(pending));
  } catch (...) {  // strong guarantee, as the port promises
    to_server_.pop_back();
    throw;
  }
}

void SimCoordinator::ask_existence(Pending pending) {
  const auto watch = watch_of(pending.request);
  auto on_event = take_on_event(pending.request);
  pending.request.operation = ExistsAndWatch{watch->path, std::move(on_event)};
  pending.unreadable = true;
  send(std::move(pending));
}

void SimCoordinator::hold(Pending pending) {
  if (pending.request.session == SessionId{}) {
    const auto since = pending.request.wanted_since;
    const auto now = own_clock_.now();
    const auto due = std::max(since == Instant{} ? now : since, disconnected_since_) +
                     options_.connection_timeout;
    pending.timer = own_clock_.at(std::max(now, due), [this, id = pending.id] {
      const auto late =
          std::find_if(held_.begin(), held_.end(), [id](const Pending& p) { return p.id == id; });
      Pending withdrawn = std::move(*late);
      held_.erase(late);
      withdrawn.timer = {};
      answer_locally(std::move(withdrawn), Status::not_connected,
                     "no server within the connection timeout");
    });
  }
  held_.push_back(std::move(pending));
}

void SimCoordinator::flush_held() {
  while (!held_.empty()) {
    Pending pending = std::move(held_.front());
    held_.pop_front();
    clock_.cancel(std::exchange(pending.timer, {}));
    const SessionId bound = pending.request.session;
    if (bound != SessionId{} && bound != session_) {
      answer_locally(std::move(pending), Status::session_ended);
    } else {
      send(std::move(pending));
    }
  }
}

void SimCoordinator::answer_locally(Pending pending, Status status, const char* detail) {
  clock_.cancel(std::exchange(pending.timer, {}));
  to_client_.emplace_back(LocalReply{std::move(pending), status, detail});
}

bool SimCoordinator::cancel_unsent(RequestId request) noexcept {
  const auto found = std::find_if(held_.begin(), held_.end(),
                                  [request](const Pending& p) { return p.id == request; });
  if (found == held_.end()) return false;
  Pending pending = std::move(*found);
  held_.erase(found);
  answer_locally(std::move(pending), Status::not_sent);
  cancel_unsent(request);  // the count has the id of its create
  return true;
}

void SimCoordinator::unwatch(RequestId request) noexcept {
  const auto same = [request](const auto& other) { return other.id == request; };
  if (const auto interest = std::find_if(interests_.begin(), interests_.end(), same);
      interest != interests_.end()) {
    const Watch watch = std::move(interest->watch);
    interests_.erase(interest);
    drop_watch_if_unused(watch);
    return;
  }
  for (auto* queue : {&in_flight_, &held_}) {
    const auto pending = std::find_if(queue->begin(), queue->end(), same);
    if (pending != queue->end()) pending->unwatched = true;
  }
}

void SimCoordinator::drop_watch_if_unused(const Watch& watch) {
  // A request in flight counts as a use: the removal would arrive after it and delete its watch.
  // The reply calls this function again.
  if (!armed_.contains(watch) ||
      std::any_of(interests_.begin(), interests_.end(),
                  [&watch](const Interest& i) { return i.watch == watch; }) ||
      std::any_of(in_flight_.begin(), in_flight_.end(),
                  [&watch](const Pending& p) { return watch_of(p.request) == watch; })) {
    return;
  }
  armed_.erase(watch);
  last_send_ = own_clock_.now();
  ++watch_removals_;
  to_server_.emplace_back(RemoveWatch{watch});
}

void SimCoordinator::close() {
  if (closed_) return;
  closed_ = true;
  // Without a connection nothing is sent. The session stays until its timeout.
  if (link_ == Link::up && !isolated_ && !cut_off_ && !ensemble_.is_leader_paused()) {
    ensemble_.end_session(server_session_);
  }
  std::vector<Pending> left;
  const auto take = [this, &left](Pending& pending) {
    clock_.cancel(std::exchange(pending.timer, {}));
    left.push_back(std::move(pending));
  };
  for (Pending& pending : in_flight_) take(pending);
  for (Pending& pending : held_) take(pending);
  for (ToClient& message : to_client_) {
    if (auto* local = std::get_if<LocalReply>(&message)) take(local->pending);
  }
  in_flight_.clear();
  held_.clear();
  to_client_.clear();
  drop_network(OnTheWay::dropped);
  link_ = Link::down;
  interests_.clear();
  clock_.cancel(std::exchange(presence_timer_, {}));
  clock_.cancel(std::exchange(end_timer_, {}));
  gate_open_ = told_connected_ = false;
  const SessionId session = std::exchange(session_, {});
  if (session != SessionId{} && observer_ != nullptr) observer_->on_ended(session, Status::closed);
  std::stable_sort(left.begin(), left.end(),
                   [](const Pending& a, const Pending& b) { return a.id < b.id; });
  for (Pending& pending : left) {
    LocalReply message{std::move(pending), Status::closed, ""};
    receive_one(message);
  }
}

bool SimCoordinator::is_hit(const KindSet& kinds, const Pending& pending) {
  if (pending.last_level && kinds.test(index(OperationKind::create_contender))) return false;
  return kinds.test(index(kind_of(pending.request.operation)));
}

bool SimCoordinator::take_matching(KindFilters& filters, const Pending& pending) {
  const auto match = std::find_if(filters.begin(), filters.end(), [&pending](const KindSet& kinds) {
    return is_hit(kinds, pending);
  });
  if (match == filters.end()) return false;
  filters.erase(match);
  return true;
}

std::size_t SimCoordinator::requests() const {
  return std::accumulate(counts_.begin(), counts_.end(), std::size_t{0});
}

std::size_t SimCoordinator::live_interests() const {
  const auto waiting = [](const Pending& p) { return watch_of(p.request) && !p.unwatched; };
  return interests_.size() +
         static_cast<std::size_t>(std::count_if(in_flight_.begin(), in_flight_.end(), waiting) +
                                  std::count_if(held_.begin(), held_.end(), waiting));
}

std::size_t SimCoordinator::unanswered() const {
  const auto local = std::count_if(to_client_.begin(), to_client_.end(), [](const ToClient& m) {
    return std::holds_alternative<LocalReply>(m);
  });
  return in_flight_.size() + held_.size() + static_cast<std::size_t>(local);
}

}  // namespace zklock::model
