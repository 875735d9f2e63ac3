// SPDX-License-Identifier: Apache-2.0
// The members of ClientCore that report what the client does.
#include <algorithm>
#include <array>
#include <string_view>
#include <utility>
#include <variant>

#include "zklock/core/health_rules.h"
#include "zklock/engine/client_core.h"
#include "zklock/engine/path_lock.h"

namespace zklock::detail {

namespace {

/// The names of the alternatives of client::Operation.
constexpr std::array<std::string_view, std::variant_size_v<client::Operation>> kOperationNames{
    "create",       // CreateContender
    "exists",       // CountChildren
    "create",       // CreateParents
    "getChildren",  // ListChildren
    "getData",      // Get
    "getData",      // GetAndWatch
    "check",        // Check
    "delete",       // Delete
    "multi",        // AnnounceAndDelete
    "getChildren",  // ListAndWatch
    "exists",       // ExistsAndWatch
    "multi",        // Transaction
    "sync",         // Sync
};
static_assert(!kOperationNames.back().empty());

void add(DurationHistogram& sum, const DurationHistogram& more) {
  for (std::size_t i = 0; i < sum.counts.size(); ++i) sum.counts[i] += more.counts[i];
  sum.sum += more.sum;
}

/// After so many paths and contenders, metrics() releases the engine mutex for a moment.
constexpr std::size_t kMostAtOnce = 128;

/// Returns the requests of which at least one was answered, by name.
std::vector<RequestMetrics> by_name(const client::CoordinatorStats& stats) {
  std::vector<RequestMetrics> requests;
  for (std::size_t i = 0; i < kOperationNames.size(); ++i) {
    if (stats.requests.at(i).count() == 0) continue;
    const std::string_view name = kOperationNames.at(i);
    auto known = std::ranges::find(requests, name, &RequestMetrics::operation);
    if (known == requests.end()) {
      requests.push_back({.operation = name});
      known = requests.end() - 1;
    }
    add(known->durations, stats.requests.at(i));
  }
  std::ranges::sort(requests, {}, &RequestMetrics::operation);
  return requests;
}

}  // namespace

ClientMetrics ClientCore::metrics() {
  if (forked()) throw Error(Errc::forked, "read the metrics of", hosts());
  ClientMetrics all;
  LabelStates states;
  const auto paths = path_locks();
  for (std::size_t next = 0; next < paths.size();) {
    const EngineLock lock({*this});
    for (std::size_t read = 0; read < kMostAtOnce && next < paths.size(); ++next) {
      read += 1 + paths[next]->add_to(states);
    }
  }
  std::vector<std::pair<std::string, const LabelMetrics*>> labels;
  {
    const EngineLock lock({*this});
    labels = records().labels.all();
    all.lease_remaining = keeper().lease_remaining();
    all.heartbeat_failures = keeper().heartbeat_failures();
    all.low_leases = keeper().low_leases();
    all.pending_deletes = work().size();
    all.refused_deletes = cleaner().refused();
    all.connected = connected_;
    all.sessions = sessions_;
    all.reconnects = reconnects_;
  }
  for (const auto& [label, counts] : labels) {
    LockMetrics& lock = all.locks.emplace_back(counts->read(label));
    const auto state = states.find(counts);
    if (state == states.end()) continue;
    lock.holds = state->second.holds;
    lock.waiters = state->second.waiters;
    lock.leaders = state->second.leaders;
    lock.oldest_hold = state->second.oldest_hold;
    lock.oldest_wait = state->second.oldest_wait;
  }
  all.session_timeout = keeper().timeout();
  const client::CoordinatorStats stats = coordinator().stats();
  all.requests = by_name(stats);
  all.node_bytes = stats.node_bytes;
  all.node_limit_bytes = stats.node_limit_bytes;
  all.watch_bytes = stats.watch_bytes;
  all.watch_limit_bytes = stats.watch_limit_bytes;
  for (const client::Dispatcher* each : {&dispatcher(), &losses()}) {
    const client::Backlog backlog = each->backlog();
    all.queued_callbacks += backlog.waiting;
    all.longest_callback_wait = std::max(all.longest_callback_wait, backlog.oldest);
  }
  return all;
}

Health ClientCore::health() {
  if (forked()) throw Error(Errc::forked, "check the health of", hosts());
  core::HealthFacts facts;
  facts.closed = closed();
  facts.timeout = keeper().timeout();
  facts.connection_problem = coordinator().connection_problem();
  const client::CoordinatorStats stats = coordinator().stats();
  facts.node_bytes = stats.node_bytes;
  facts.node_limit_bytes = stats.node_limit_bytes;
  facts.watch_bytes = stats.watch_bytes;
  facts.watch_limit_bytes = stats.watch_limit_bytes;
  {
    const EngineLock lock({*this});
    const Instant now = scheduler().now();
    const auto callback = records().callbacks.oldest();
    if (callback) facts.oldest_callback.emplace(callback->first, now - callback->second);
    facts.lease_left = keeper().lease_remaining();
    facts.refused_deletes = cleaner().refused();
    facts.connected = connected_;
    facts.auth_refused = refused_;
    if (disconnected_since_) facts.disconnected_for = now - *disconnected_since_;
    for (std::size_t i = 0; i < session_began_.size(); ++i) {
      if (session_began_.at(i)) facts.session_ages.at(i) = now - *session_began_.at(i);
    }
  }
  return core::judge(facts);
}

}  // namespace zklock::detail
