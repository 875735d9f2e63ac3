// SPDX-License-Identifier: Apache-2.0
// The table of all metrics. zklock/guides/metrics.md explains them.
#include "zklock/version.h"

#include <array>
#include <chrono>
#include <cstddef>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "zklock/hold.h"
#include "zklock/metrics.h"

namespace zklock {

namespace {

using Labels = std::vector<std::pair<std::string, std::string>>;
using Samples = std::vector<MetricFamily::Sample>;
using Type = MetricFamily::Type;

Labels labels_of(const ClientMetrics& client) {
  Labels labels;
  if (!client.client.empty()) labels.emplace_back("client", client.client);
  return labels;
}

Labels labels_of(const ClientMetrics& client, const LockMetrics& lock) {
  Labels labels = labels_of(client);
  labels.emplace_back("lock", lock.lock);
  return labels;
}

Labels with(Labels labels, std::string_view name, std::string_view value) {
  labels.emplace_back(name, value);
  return labels;
}

double number(std::chrono::nanoseconds time) {
  return std::chrono::duration<double>(time).count();
}
template <class Number>
double number(Number value) {
  return static_cast<double>(value);
}

void add_number(Samples& samples, Labels labels, double value) {
  samples.push_back({.labels = std::move(labels), .value = value});
}

template <auto member>
void of_client(const ClientMetrics& client, Samples& samples) {
  add_number(samples, labels_of(client), number(client.*member));
}

template <auto member>
void of_locks(const ClientMetrics& client, Samples& samples) {
  for (const LockMetrics& lock : client.locks) {
    add_number(samples, labels_of(client, lock), number(lock.*member));
  }
}

/// Adds the member for the labels that have, or had, a candidate.
template <auto member>
void of_candidates(const ClientMetrics& client, Samples& samples) {
  for (const LockMetrics& lock : client.locks) {
    if (lock.candidates == 0 && lock.leaderships == 0) continue;
    add_number(samples, labels_of(client, lock), number(lock.*member));
  }
}

void acquires(const ClientMetrics& client, Samples& samples) {
  for (const LockMetrics& lock : client.locks) {
    for (std::size_t i = 0; i < lock.acquires.size(); ++i) {
      const auto end = static_cast<AcquireEnd>(i);
      if (end != AcquireEnd::granted && lock.acquires.at(i).count() == 0) continue;
      samples.push_back({.labels = with(labels_of(client, lock), "outcome", to_string(end)),
                         .histogram = lock.acquires.at(i)});
    }
  }
}

void ended_holds(const ClientMetrics& client, Samples& samples) {
  for (const LockMetrics& lock : client.locks) {
    for (std::size_t i = 0; i < lock.ended_holds.size(); ++i) {
      if (lock.ended_holds.at(i).count() == 0) continue;
      const auto end = static_cast<HoldEnd>(i);
      samples.push_back({.labels = with(labels_of(client, lock), "end", to_string(end)),
                         .histogram = lock.ended_holds.at(i)});
    }
  }
}

void losses(const ClientMetrics& client, Samples& samples) {
  // LossReason::closed is the last reason, and no loss of the metrics.
  static_assert(std::tuple_size_v<decltype(LockMetrics::losses)> ==
                static_cast<std::size_t>(LossReason::closed));
  for (const LockMetrics& lock : client.locks) {
    for (std::size_t i = 0; i < lock.losses.size(); ++i) {
      const auto reason = static_cast<LossReason>(i);
      add_number(samples, with(labels_of(client, lock), "reason", to_string(reason)),
                 number(lock.losses.at(i)));
    }
  }
}

void lease_remaining(const ClientMetrics& client, Samples& samples) {
  if (client.lease_remaining) {
    add_number(samples, labels_of(client), number(*client.lease_remaining));
  }
}

void requests(const ClientMetrics& client, Samples& samples) {
  for (const RequestMetrics& request : client.requests) {
    samples.push_back({.labels = with(labels_of(client), "op", request.operation),
                       .histogram = request.durations});
  }
}

struct Row {
  const char* name;
  const char* help;
  Type type;
  void (*add)(const ClientMetrics&, Samples&);
};

using C = ClientMetrics;
using L = LockMetrics;

constexpr Row kRows[] = {
    {"zklock_acquire_duration_seconds",
     "Time from an acquiring call to its end, nested calls excluded.", Type::histogram, acquires},
    {"zklock_hold_duration_seconds", "Time from a grant to the end of the hold.", Type::histogram,
     ended_holds},
    {"zklock_losses_total", "Holds that were lost.", Type::counter, losses},
    {"zklock_deadlocks_total", "Acquiring calls that failed with would_deadlock.", Type::counter,
     of_locks<&L::deadlocks>},
    {"zklock_holds", "Holds now.", Type::gauge, of_locks<&L::holds>},
    {"zklock_waiters", "Contenders that wait now.", Type::gauge, of_locks<&L::waiters>},
    {"zklock_oldest_hold_seconds", "Age of the oldest hold; 0 without a hold.", Type::gauge,
     of_locks<&L::oldest_hold>},
    {"zklock_oldest_wait_seconds", "Age of the oldest wait; 0 without a waiter.", Type::gauge,
     of_locks<&L::oldest_wait>},
    {"zklock_leader", "Candidates of this process that lead now.", Type::gauge,
     of_candidates<&L::leaders>},
    {"zklock_leader_transitions_total", "Leaderships of this process that began.", Type::counter,
     of_candidates<&L::leaderships>},
    {"zklock_connected", "1 while the client has a session with a connection, otherwise 0.",
     Type::gauge, of_client<&C::connected>},
    {"zklock_session_timeout_seconds", "Session timeout that the servers granted.", Type::gauge,
     of_client<&C::session_timeout>},
    {"zklock_lease_remaining_seconds",
     "Time until the lease expires; absent while no lock znode is held or retained.", Type::gauge,
     lease_remaining},
    {"zklock_low_leases_total",
     "How often less than a quarter of the session timeout was left of the lease.", Type::counter,
     of_client<&C::low_leases>},
    {"zklock_sessions_total", "Sessions that were opened.", Type::counter, of_client<&C::sessions>},
    {"zklock_reconnects_total", "Connections of a session after its first.", Type::counter,
     of_client<&C::reconnects>},
    {"zklock_heartbeat_failures_total", "Heartbeats and syncs without an answer.", Type::counter,
     of_client<&C::heartbeat_failures>},
    {"zklock_pending_deletes", "Releases and withdrawals that are not confirmed.", Type::gauge,
     of_client<&C::pending_deletes>},
    {"zklock_refused_deletes", "Deletes of lock znodes that an ACL refused.", Type::gauge,
     of_client<&C::refused_deletes>},
    {"zklock_node_bytes", "Bytes of the paths of the lock znodes.", Type::gauge,
     of_client<&C::node_bytes>},
    {"zklock_node_limit_bytes", "Limit of zklock_node_bytes.", Type::gauge,
     of_client<&C::node_limit_bytes>},
    {"zklock_watch_bytes", "Bytes of the paths of the watches.", Type::gauge,
     of_client<&C::watch_bytes>},
    {"zklock_watch_limit_bytes", "Limit of zklock_watch_bytes.", Type::gauge,
     of_client<&C::watch_limit_bytes>},
    {"zklock_queued_callbacks", "Callbacks that wait because others block all threads.",
     Type::gauge, of_client<&C::queued_callbacks>},
    {"zklock_longest_callback_wait_seconds",
     "Longest wait of a callback for a free thread; 0 if none waits.", Type::gauge,
     of_client<&C::longest_callback_wait>},
    {"zklock_request_duration_seconds", "Time from the sending of a request to its answer.",
     Type::histogram, requests},
};

}  // namespace

std::string_view to_string(AcquireEnd end) noexcept {
  switch (end) {
    case AcquireEnd::granted: return "granted";
    case AcquireEnd::timeout: return "timeout";
    case AcquireEnd::cancelled: return "cancelled";
    case AcquireEnd::failed: return "failed";
  }
  return "unknown";
}

std::string_view to_string(HoldEnd end) noexcept {
  switch (end) {
    case HoldEnd::released: return "released";
    case HoldEnd::expired: return "expired";
    case HoldEnd::lost: return "lost";
    case HoldEnd::closed: return "closed";
  }
  return "unknown";
}

std::vector<MetricFamily> metric_families(std::span<const ClientMetrics> clients) {
  std::vector<MetricFamily> families;
  for (const Row& row : kRows) {
    MetricFamily family{.name = row.name, .help = row.help, .type = row.type};
    for (const ClientMetrics& client : clients) row.add(client, family.samples);
    if (!family.samples.empty()) families.push_back(std::move(family));
  }
  families.push_back({.name = "zklock_build_info",
                      .help = "The version of zklock; always 1.",
                      .samples = {{.labels = {{"version", ZKLOCK_VERSION_STRING}}, .value = 1}}});
  return families;
}

std::vector<MetricFamily> metric_families(const ClientMetrics& client) {
  return metric_families(std::span(&client, std::size_t{1}));
}

}  // namespace zklock
