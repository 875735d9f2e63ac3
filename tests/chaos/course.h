// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

#include "zklock/lease_clock.h"

namespace zklock::chaos {

// What a lock of the course is.
enum class Kind { mutex, kept, batched, shared, semaphore, priority, latch };

// A path that clients contend for.
struct Site {
  const char* path;
  Kind kind;
  int capacity;  // how many parts it has: whoever excludes all others takes them all
  int share;     // of a worker's choices
  bool quiet;    // for the spared clients only: see is_quiet()
};

// More readers than there ever are.
inline constexpr int kAll = 1000;

// The locks, known to the conductor and its clients alike by their index.
inline constexpr std::array<Site, 12> kCourse{{
    {"/mutex-0", Kind::mutex, 1, 6, false},
    {"/mutex-1", Kind::mutex, 1, 6, false},
    {"/mutex-2", Kind::mutex, 1, 6, false},
    {"/mutex-3", Kind::mutex, 1, 6, true},
    {"/mutex-4", Kind::mutex, 1, 6, true},
    {"/mutex-5", Kind::mutex, 1, 6, true},
    {"/kept", Kind::kept, 1, 3, false},
    {"/batched", Kind::batched, 1, 4, false},
    {"/shared", Kind::shared, kAll, 8, false},
    {"/semaphore", Kind::semaphore, 3, 6, false},
    {"/priority", Kind::priority, 1, 4, false},
    {"/leader", Kind::latch, 1, 0, false},  // each client has one candidate, beside its workers
}};

// So many clients are left to what happens to the servers. Their workers use the quiet locks, and
// nothing else, which nobody else does: at the others there is somebody dead in the queue most of
// the time, for whom all wait until the session is over.
inline constexpr unsigned kSpared = 2;
inline constexpr unsigned kWorkers = 3;  // of each client
constexpr bool is_quiet(unsigned client, unsigned worker) {
  return client < kSpared && worker < kWorkers;
}

inline constexpr const char* kChroot = "/chaos";

// With which a client ends when it is asked to leave without a release.
inline constexpr int kLeftCode = 7;

// A moment of CLOCK_BOOTTIME, which all processes of a machine share.
using Nanos = std::int64_t;
inline Nanos now() {
  return LeaseClock::now().time_since_epoch().count();
}

// A grant's number over all processes: which client, which start of it, which thread, which grant.
using GrantId = std::uint64_t;
constexpr GrantId grant_id(unsigned client, unsigned life, unsigned thread, std::uint64_t number) {
  return (GrantId{client} << 56U) | (GrantId{life} << 40U) | (GrantId{thread} << 32U) | number;
}
// The start of a client that the grant belongs to.
constexpr std::uint32_t life_of(GrantId id) {
  return static_cast<std::uint32_t>(id >> 40U);
}
constexpr std::uint32_t life_of(unsigned client, unsigned life) {
  return life_of(grant_id(client, life, 0, 0));
}

}  // namespace zklock::chaos
