// SPDX-License-Identifier: Apache-2.0
#include "tests/model/lock_world.h"

#include <algorithm>
#include <cstddef>
#include <cstring>
#include <set>
#include <string_view>
#include <utility>

#include "zklock/core/child_nodes.h"
#include "zklock/core/lock_delay.h"
#include "zklock/core/znode_name.h"

namespace zklock::model {

namespace {

/// Returns a pointer that does not own the object; the world owns it.
template <class T>
std::shared_ptr<T> borrowed(T& object) {
  return {std::shared_ptr<void>(), &object};
}

/// Returns the access of the lock znode, which covers nested read holds of a writer.
Access access_of(const CallResult& call) {
  const auto name = std::string_view(call.node).substr(std::strlen(LockWorld::kPath) + 1);
  return core::parse_znode_name(name)->access;
}

bool is_handoff_empty(detail::PathLock& path_lock) {
  const detail::EngineLock lock(path_lock.entry());
  return path_lock.session_handoff().empty();
}

/// Returns the names of the children that are hold markers, or of those that are not.
std::vector<std::string> children_of(const Node* parent, bool are_hold_markers) {
  std::vector<std::string> names = parent ? parent->children : std::vector<std::string>{};
  std::erase_if(names, [are_hold_markers](const std::string& name) {
    return (core::kind_of(name) == core::ChildKind::hold_marker) != are_hold_markers;
  });
  return names;
}

}  // namespace

LockWorld::LockWorld(std::size_t clients, ClientOptions options, bool announces,
                     std::size_t creates_at_once, std::optional<LogTarget> log)
    : world_(clients, options) {
  std::shared_ptr<client::Log> lines;
  if (log) {
    lines = std::make_shared<client::Log>(log->logger, log->sink, log->level,
                                          borrowed<client::Dispatcher>(world_.dispatcher(0)));
  }
  for (std::size_t c = 0; c < clients; ++c) {
    cores_.push_back(detail::ClientCore::make(
        {.coordinator = borrowed<client::Coordinator>(world_.client(c)),
         .scheduler = borrowed<client::Scheduler>(world_.scheduler(c)),
         .dispatcher = borrowed<client::Dispatcher>(world_.dispatcher(c)),
         .loss_dispatcher = borrowed<client::Dispatcher>(world_.dispatcher(c)),
         .finish_log =
             [this, logs = lines != nullptr] {
               while (logs && world_.dispatcher(0).run_next()) {
               }
             }},
        {.hosts = "sim",
         .application = "test",
         .host = "host",
         .loss_callback_limit = options.loss_callback_limit,
         .max_in_flight = creates_at_once,
         .announces = announces,
         .log = lines}));
  }
  begin_history();
}

LockWorld::~LockWorld() {
  for (const auto& core : cores_) core->close();
  while (!used_.empty()) end_use(used_.begin()->first);
  watchers_.clear();
  calls_.clear();
}

std::shared_ptr<detail::PathLock> LockWorld::path_lock(std::size_t c, const char* lock) {
  return cores_.at(c)->path_lock(core::LockPath(lock));
}

void LockWorld::connect_all() {
  for (std::size_t c = 0; c < world_.clients(); ++c) {
    if (!world_.client(c).is_connected()) world_.reconnect(c);
  }
  world_.run_all();
}

void LockWorld::use(std::size_t client) {
  auto& used = used_[client];
  if (used) return;
  used = path_lock(client);
  used->attach();
}

void LockWorld::end_use(std::size_t client) {
  const auto used = used_.find(client);
  if (used == used_.end()) return;
  used->second->detach();
  used_.erase(used);
}

LockWorld::Request LockWorld::to_write(Owner owner) {
  return {.owner = owner, .rule = core::QueueRule::writer()};
}

LockWorld::Request LockWorld::to_read(Owner owner) {
  return {.owner = owner, .kind = core::CountKind::shared_hold, .rule = core::QueueRule::reader()};
}

LockWorld::Request LockWorld::permits(std::int32_t wanted, std::int32_t all) {
  return {.rule = core::QueueRule::permits(wanted, all, false)};
}

LockWorld::Request LockWorld::at_gate(std::int32_t weight, Owner owner) {
  return {.owner = owner, .gate = core::QueueRule::weighted(weight, 100)};
}

LockWorld::Request LockWorld::shared_permits(std::int32_t wanted, std::int32_t initial) {
  return {.rule = core::QueueRule::permits(wanted, initial, true)};
}

std::string LockWorld::count_path() {
  return std::string(kPath) + "/" + std::string(core::kCountNode);
}

void LockWorld::say_permits(std::int32_t number) {
  static_cast<void>(world_.ensemble().create_container("/locks"));
  static_cast<void>(world_.ensemble().create_container(kPath));
  static_cast<void>(world_.ensemble().create(count_path()));
  world_.ensemble().set_data(count_path(), std::to_string(number));
}

std::size_t LockWorld::acquire(std::size_t client, Request request) {
  const std::size_t index = calls_.size();
  calls_.push_back(std::make_unique<CallResult>(CallResult{.client = client,
                                                           .owner = request.owner,
                                                           .hold = {},
                                                           .error = {},
                                                           .token = {},
                                                           .node = {},
                                                           .kind = request.kind,
                                                           .lock_delay = request.lock_delay}));
  // The first contender stores a shared count.
  if (!request.rule.shares_count() || !world_.ensemble().find(count_path())) {
    record({.kind = Event::Kind::permits_set, .number = request.rule.total});
  }
  record({.kind = Event::Kind::wanted, .hold = number_of(index)});
  waiting_.emplace_back();
  watchers_.emplace_back();
  losses_notified_.push_back(0);
  const Deadline deadline =
      !request.timeout ? Deadline::never() : Deadline::after(world_.now(), *request.timeout);
  waiting_[index] = detail::PendingAcquire::start(
      path_lock(client),
      {.owner = request.owner,
       .rule = std::move(request.rule),
       .gate = std::move(request.gate),
       .time_limit = {deadline, world_.now()},
       .kind = request.kind,
       .queue_again = request.queue_again,
       .limit = request.limit,
       .event_sink = detail::LockEventSink(std::move(request.listener)),
       .lock_delay = request.lock_delay,
       .cohort_policy = request.local,
       .metrics = request.metrics,
       .texts = std::move(request.texts),
       .done = [this, index](detail::AcquireOutcome outcome) { ended(index, std::move(outcome)); }},
      {});
  return index;
}

void LockWorld::ended(std::size_t index, detail::AcquireOutcome outcome) {
  CallResult& call = *calls_.at(index);
  ++call.outcomes;
  record({.kind = Event::Kind::ended, .hold = number_of(index)});
  call.error = std::move(outcome.error);
  if (!outcome.contender) return;
  call.hold = outcome.contender->make_hold(call.kind);
  call.token = call.hold.token();
  call.node = call.hold.node();
  query_holds();
  call.is_recorded = true;
  record({.kind = Event::Kind::granted,
          .access = core::is_shared(call.kind) ? Access::shared : access_of(call),
          .hold = number_of(index),
          .owner = std::hash<Owner>{}(call.owner),
          .permits = call.hold.permits(),
          .token = call.token});
  watchers_[index] =
      std::make_unique<std::stop_callback<Watcher>>(call.hold.loss_token(), Watcher{this, index});
  check_delay(call);
}

bool LockWorld::has_work(std::size_t client) const {
  const detail::EngineLock lock({*cores_.at(client)});
  return !cores_.at(client)->work().is_idle();
}

void LockWorld::delete_node(std::size_t client, std::string path) {
  detail::ClientCore& core = *cores_.at(client);
  const detail::EngineLock lock({core});
  core.cleaner().remove(core.keeper().session(), {.path = std::move(path)},
                        detail::Cleaner::Step::deleting);
}

void LockWorld::empty_servers() {
  world_.ensemble().empty();
  tokens_.clear();
  ++resource_;
}

void LockWorld::check_delay(const CallResult& granted) {
  const auto names = nodes();
  const bool nested = std::ranges::any_of(calls_, [&](const auto& other) {
    return &*other != &granted && other->token == granted.token;
  });
  if (!core::orphans(names).empty() && !nested) violation_ = "delay: a grant within it";
  if (granted.lock_delay.count() == 0 || access_of(granted) != Access::exclusive || nested) return;
  const auto own =
      *core::parse_znode_name(std::string_view(granted.node).substr(std::strlen(kPath) + 1));
  const auto marker = core::DelayMarker::make(granted.lock_delay, granted.token, own.sequence);
  const bool is_there = world_.ensemble().find(granted.node) != nullptr;
  if (is_there && std::ranges::count(names, marker.name) == 0) violation_ = "delay: no marker";
}

void LockWorld::cancel(std::size_t call) {
  if (const auto waits = waiting_[call].lock()) waits->cancel();
}

void LockWorld::release(std::size_t call) {
  watchers_[call].reset();
  query_holds();
  calls_[call]->hold.release();
  query_holds();
}

std::vector<std::string> LockWorld::nodes() const {
  auto names = children_of(world_.ensemble().find(kPath), false);
  std::erase(names, core::kCountNode);
  return names;
}

std::vector<std::string> LockWorld::hold_markers() const {
  return children_of(world_.ensemble().find(kPath), true);
}

std::size_t LockWorld::held() const {
  std::set<FencingToken> grants;  // nested holds count once
  for (const auto& call : calls_) {
    // A paused process cannot query its holds.
    if (world_.client(call->client).is_paused()) continue;
    if (call->hold && call->hold.state() != HoldState::lost) grants.insert(call->token);
  }
  return grants.size();
}

std::string LockWorld::violation() {
  query_holds();
  if (const auto& found = checker_.violation()) return found->invariant + ": " + found->text;
  for (const auto& call : calls_) {
    const bool is_lost = call->hold && !world_.client(call->client).is_paused() &&
                         call->hold.state() == HoldState::lost;
    if (is_lost && !call->hold.loss_token().stop_requested()) return "I4: a loss without a notice";
  }
  return violation_;
}

std::string LockWorld::violation_at_rest() {
  query_holds();
  record({.kind = Event::Kind::rest});
  if (std::string now = violation(); !now.empty()) return now;
  for (const auto& left : {nodes(), hold_markers()}) {
    if (!left.empty()) return "I8: node " + left.front() + " is left";
  }
  for (std::size_t c = 0; c < world_.clients(); ++c) {
    if (world_.client(c).server_watches() != 0) return "I8: a watch is left";
    if (world_.client(c).live_interests() != 0) return "I8: an interest is left";
    if (!path_lock(c)->nodes().empty()) return "I8: an entry of the map is left";
    if (!is_handoff_empty(*path_lock(c))) return "I8: a contender seems to wait";
    if (has_work(c)) return "I8: background work is left";
    if (cores_[c]->keeper().is_used()) return "I8: a member is left";
  }
  return {};
}

std::shared_ptr<detail::PendingAcquire> acquire_path(
    const std::shared_ptr<detail::PathLock>& path_lock,
    std::function<void(const detail::AcquireOutcome&)> done, core::CohortPolicy policy) {
  return detail::PendingAcquire::start(path_lock,
                                       {.owner = Owner::unique(),
                                        .time_limit = detail::TimeLimit::endless(),
                                        .cohort_policy = policy,
                                        .done = std::move(done)},
                                       {});
}

}  // namespace zklock::model
