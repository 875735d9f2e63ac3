// SPDX-License-Identifier: Apache-2.0
#include "tests/model/lock_world.h"

#include <algorithm>
#include <cstddef>
#include <cstring>
#include <limits>
#include <map>
#include <set>
#include <string_view>
#include <utility>

#include "zklock/core/child_nodes.h"
#include "zklock/core/lock_delay.h"
#include "zklock/core/znode_data.h"
#include "zklock/core/znode_name.h"

namespace zklock::model {

namespace {

/// Returns a pointer that does not own the object; the world owns it.
template <class T>
std::shared_ptr<T> borrowed(T& object) {
  return {std::shared_ptr<void>(), &object};
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

/// Returns the sequence number, which stays when the owner downgrades to a read hold.
std::int32_t number_of(std::string_view node) {
  return core::parse_znode_name(node.substr(std::strlen(LockWorld::kPath) + 1))->sequence.value;
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
         .creates_at_once = creates_at_once,
         .announces = announces,
         .log = lines}));
  }
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
  said_.push_back(number);
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
                                                           .all = request.rule.total,
                                                           .lock_delay = request.lock_delay}));
  if (request.rule.shares_count()) {
    if (said_.empty()) said_.push_back(request.rule.total);
    calls_.back()->all = std::numeric_limits<std::int32_t>::max();
    calls_.back()->counts = said_.size() - 1;
  }
  waiting_.emplace_back();
  watchers_.emplace_back();
  said_lost_.push_back(false);
  losses_notified_.push_back(std::make_shared<std::size_t>(0));
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
  call.error = std::move(outcome.error);
  if (!outcome.contender) return;
  call.hold = outcome.contender->make_hold(call.kind);
  call.token = call.hold.token();
  call.node = call.hold.node();
  watchers_[index] = std::make_unique<std::stop_callback<Watcher>>(
      call.hold.loss_token(), Watcher{losses_notified_[index]});
  check_token(call);
  if (call.counts) check_count(call);
  check_delay(call);
}

/// Follows the lock znode rather than the call: a write hold covers the nested read holds of its
/// owner. If only read holds are left, they admit other readers. The client may not know the new
/// znode's name yet.
Access LockWorld::access_of(const CallResult& call) const {
  const bool only_shared = std::ranges::none_of(calls_, [&](const auto& other) {
    return other->hold && other->token == call.token && !core::is_shared(other->kind);
  });
  if (only_shared && core::is_shared(call.kind)) return Access::shared;
  return core::parse_znode_name(std::string_view(call.node).substr(std::strlen(kPath) + 1))->access;
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
  first_call_ = calls_.size();
  last_token_ = last_exclusive_token_ = {};
}

void LockWorld::check_token(const CallResult& granted) {
  const bool excludes = access_of(granted) == Access::exclusive;
  if (granted.token < (excludes ? last_token_ : last_exclusive_token_)) {
    violation_ = "G1: a grant with a lower token";
  }
  last_token_ = std::max(last_token_, granted.token);
  if (excludes) last_exclusive_token_ = granted.token;
  for (std::size_t i = first_call_; i < calls_.size(); ++i) {
    const auto& other = calls_[i];
    if (other->token == granted.token && number_of(other->node) != number_of(granted.node)) {
      violation_ = "G1: two nodes with one token";
    }
    if (other->token == granted.token && other->owner != granted.owner) {
      violation_ = "G1: two owners with one token";
    }
  }
}

void LockWorld::check_count(const CallResult& granted) {
  const auto own =
      *core::parse_znode_name(std::string_view(granted.node).substr(std::strlen(kPath) + 1));
  std::int64_t taken = own.permits;
  for (const std::string& name : nodes()) {
    const auto other = core::parse_znode_name(name);
    if (other && other->before(own)) taken += other->permits;
  }
  const auto since = said_.begin() + static_cast<std::ptrdiff_t>(*granted.counts);
  std::int32_t most = *std::max_element(since, said_.end());
  // Or a contender that found no count has stored it.
  const Node* const count = world_.ensemble().find(count_path());
  if (count) most = std::max(most, core::parse_permit_count(count->data).value_or(0));
  if (taken > most) violation_ = "G2: more than there ever were";
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
  calls_[call]->hold.release();
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

std::string LockWorld::violation_of_exclusion() const {
  std::map<FencingToken, const CallResult*> grants;  // nested holds count once
  for (const auto& call : calls_) {
    if (world_.client(call->client).is_paused()) continue;
    if (call->hold && call->hold.state() != HoldState::lost) grants.emplace(call->token, &*call);
  }
  std::int64_t permits = 0;
  for (const auto& [token, call] : grants) {
    const Access access = access_of(*call);
    if (access == Access::exclusive && grants.size() > 1) return "G2: it does not hold alone";
    if (access != access_of(*grants.begin()->second)) return "G2: kinds that exclude each other";
    if (access == Access::permits) permits += call->hold.permits();
  }
  if (permits > 0 && permits > grants.begin()->second->all) return "G2: too many permits are held";
  return {};
}

std::string LockWorld::violation_of_nodes() const {
  // A session that its client has ended can keep its znodes for a while.
  std::set<std::pair<SessionId, std::string>> contenders;
  for (const std::string& name : nodes()) {
    const Node* node = world_.ensemble().find(kPath + ("/" + name));
    const auto data = core::ZnodeData::parse(node->data);
    if (!data || !core::parse_znode_name(name)) continue;
    // Drop the number of the attempt.
    const std::string contender = data->attempt.substr(0, data->attempt.rfind('.'));
    if (!contenders.emplace(node->owner, contender).second) return "nodes: two of one contender";
  }
  return {};
}

std::string LockWorld::violation() {
  if (!violation_.empty()) return violation_;
  for (const auto& found : {violation_of_exclusion(), violation_of_nodes()}) {
    if (!found.empty()) return found;
  }
  for (std::size_t i = 0; i < calls_.size(); ++i) {
    const CallResult& call = *calls_[i];
    if (call.outcomes > 1) return "calls: one ended twice";
    if (*losses_notified_[i] > 1) return "G3: the loss was notified twice";
    if (!call.hold || world_.client(call.client).is_paused()) continue;
    const bool lost = call.hold.state() == HoldState::lost;
    if (said_lost_[i] && !lost) return "G3: held again after lost";
    said_lost_[i] = lost;
    if (!lost && *losses_notified_[i] > 0) return "G3: the loss was notified, but it is held";
    if (lost && !call.hold.loss_token().stop_requested())
      return "G3: lost, but the token is not stopped";
  }
  return {};
}

std::string LockWorld::violation_at_rest() {
  if (std::string now = violation(); !now.empty()) return now;
  for (const auto& call : calls_) {
    if (call->outcomes != 1) return "calls: one never ended";
  }
  for (const auto& left : {nodes(), hold_markers()}) {
    if (!left.empty()) return "G5: node " + left.front() + " is left";
  }
  for (std::size_t c = 0; c < world_.clients(); ++c) {
    if (world_.client(c).server_watches() != 0) return "G5: a watch is left";
    if (world_.client(c).live_interests() != 0) return "G5: an interest is left";
    if (!path_lock(c)->nodes().empty()) return "G5: an entry of the map is left";
    if (!is_handoff_empty(*path_lock(c))) return "G5: a contender seems to wait";
    if (has_work(c)) return "G5: background work is left";
    if (cores_[c]->keeper().is_used()) return "G5: a member is left";
  }
  return {};
}

std::shared_ptr<detail::PendingAcquire> acquire_path(
    const std::shared_ptr<detail::PathLock>& path_lock,
    std::function<void(const detail::AcquireOutcome&)> done) {
  return detail::PendingAcquire::start(path_lock,
                                       {.owner = Owner::unique(),
                                        .time_limit = detail::TimeLimit::endless(),
                                        .done = std::move(done)},
                                       {});
}

}  // namespace zklock::model
