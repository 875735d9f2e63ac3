// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>

#include "zklock/metrics.h"

namespace zklock::testing {

// A client with a value in each metric, and in each histogram of a lock.
inline ClientMetrics sample_metrics() {
  using namespace std::chrono_literals;
  LockMetrics lock{.lock = "nightly"};
  lock.acquires[0].counts = {1, 0, 2};
  lock.acquires[0].sum = 4200us;
  lock.acquires[1].counts.back() = 1;
  lock.acquires[1].sum = 2h;
  lock.acquires[2].counts[7] = 1;
  lock.acquires[2].sum = 4s;
  lock.acquires[3].counts[8] = 2;
  lock.acquires[3].sum = 60s;
  lock.ended_holds[0].counts[7] = 3;
  lock.ended_holds[0].sum = 12s;
  lock.ended_holds[1].counts[9] = 1;
  lock.ended_holds[1].sum = 5min;
  lock.ended_holds[2].counts[8] = 1;
  lock.ended_holds[2].sum = 30s;
  lock.ended_holds[3].counts[7] = 1;
  lock.ended_holds[3].sum = 5s;
  lock.losses = {0, 1, 0, 0, 2};
  lock.deadlocks = 4;
  lock.leaderships = 5;
  lock.holds = 1;
  lock.waiters = 2;
  lock.candidates = 1;
  lock.leaders = 1;
  lock.oldest_hold = 90s;
  lock.oldest_wait = 1500ms;
  RequestMetrics create{.operation = "create"};
  create.durations.counts[1] = 7;
  create.durations.sum = 5ms;
  return {.locks = {lock},
          .requests = {create},
          .connected = true,
          .session_timeout = 10s,
          .lease_remaining = 6500ms,
          .sessions = 1,
          .reconnects = 2,
          .heartbeat_failures = 3,
          .low_leases = 4,
          .pending_deletes = 5,
          .refused_deletes = 6,
          .node_bytes = 700,
          .node_limit_bytes = 800'000,
          .watch_bytes = 900,
          .watch_limit_bytes = 800'000,
          .queued_callbacks = 8,
          .longest_callback_wait = 7s};
}

}  // namespace zklock::testing
