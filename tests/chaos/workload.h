// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

#include "zklock/lease_clock.h"

namespace zklock::chaos {

// The class and options of a lock.
enum class Kind { mutex, idle_lock, cohort, shared, semaphore, priority, latch };

// A lock path for which clients contend.
struct Site {
  const char* path;
  Kind kind;
  int capacity;  // the weight of an exclusive grant
  int share;     // probability weight among the locks
  bool quiet;    // for the spared clients only: see is_quiet()
};

// More readers than ever hold together.
inline constexpr int kAll = 1000;

// The locks. The conductor and its clients name them by their index.
inline constexpr std::array<Site, 12> kWorkload{{
    {"/mutex-0", Kind::mutex, 1, 6, false},
    {"/mutex-1", Kind::mutex, 1, 6, false},
    {"/mutex-2", Kind::mutex, 1, 6, false},
    {"/mutex-3", Kind::mutex, 1, 6, true},
    {"/mutex-4", Kind::mutex, 1, 6, true},
    {"/mutex-5", Kind::mutex, 1, 6, true},
    {"/idle-lock", Kind::idle_lock, 1, 3, false},
    {"/cohort", Kind::cohort, 1, 4, false},
    {"/shared", Kind::shared, kAll, 8, false},
    {"/semaphore", Kind::semaphore, 3, 6, false},
    {"/priority", Kind::priority, 1, 4, false},
    {"/leader", Kind::latch, 1, 0, false},  // one candidate per client, in its own thread
}};

// So many clients have no faults of their own; only faults of servers affect them. Their workers
// use only the quiet locks, and other client processes do not use these. At the other locks, a dead
// contender is usually in the queue, and all wait until its session expires.
inline constexpr unsigned kSpared = 2;
inline constexpr unsigned kWorkers = 3;  // of each client
constexpr bool is_quiet(unsigned client, unsigned worker) {
  return client < kSpared && worker < kWorkers;
}

inline constexpr const char* kChroot = "/chaos";

// The exit code of a client that SIGUSR1 ended.
inline constexpr int kLeftCode = 7;

// A time of CLOCK_BOOTTIME, which all processes of a machine share.
using Nanos = std::int64_t;
inline Nanos now() {
  return LeaseClock::now().time_since_epoch().count();
}

// Identifies a grant across all processes: client, life, thread and count.
using GrantId = std::uint64_t;
constexpr GrantId grant_id(unsigned client, unsigned life, unsigned thread, std::uint64_t number) {
  return (GrantId{client} << 56U) | (GrantId{life} << 40U) | (GrantId{thread} << 32U) | number;
}
// Returns the life to which the grant belongs: a client and how often it was started.
constexpr std::uint32_t life_of(GrantId id) {
  return static_cast<std::uint32_t>(id >> 40U);
}
constexpr std::uint32_t life_of(unsigned client, unsigned life) {
  return life_of(grant_id(client, life, 0, 0));
}

}  // namespace zklock::chaos
