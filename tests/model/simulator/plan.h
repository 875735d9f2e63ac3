// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "tests/model/simulator/fault.h"
#include "tests/model/simulator/rng.h"
#include "zklock/participant.h"

namespace zklock::simulator {

/// The public classes, as the simulation uses them.
enum class LockClass : std::uint8_t {
  reentrant,
  mutex,
  shared,
  semaphore,
  counted,  ///< a semaphore with a shared permit count
  multi,    ///< of the first two paths; see part_kind()
  quorum,
  priority,
  latch,
  election,
  observer,
  election_observer,
};
constexpr LockClass last(LockClass) noexcept {
  return LockClass::election_observer;
}

/// The number of permits on a path of a LockClass::multi.
inline constexpr int kPermitsOfPart = 2;

/// The access of the part at a path of a LockClass::multi.
struct PartKind {
  Access access = Access::exclusive;
  bool is_writer = false;
  int permits = 0;  ///< of kPermitsOfPart
};
inline constexpr int kPartKinds = 5;

/// An object of which every process has one. Times are in milliseconds; 0: not set.
struct ObjectPlan {
  LockClass kind = LockClass::reentrant;
  int path = 0;
  int number = 1;  ///< permits; weight; argument of part_kind()
  int batch = 1;
  int keep_idle_for = 0;
  int max_hold = 0;
  int lock_delay = 0;
  int listens = 0;
  int fails_on_loss = 0;
  int proclaims = 0;  ///< the number of values per leadership
  friend bool operator==(const ObjectPlan&, const ObjectPlan&) = default;
};

inline constexpr std::size_t kMostSlots = 4;

/// Returns the kind of the part at `path` of a LockClass::multi. Its `number` encodes the kinds of
/// both parts.
PartKind part_kind(const ObjectPlan& multi, int path) noexcept;

/// The state before the first step.
struct Setup {
  int slots = 2;      ///< concurrent processes
  int ensembles = 1;  ///< each process has a client for each
  int paths = 1;
  int session_ms = 6000;
  int relay_ms = 0;  ///< half a tick; 0: touches are not relayed
  int jitter_ms = 0;
  int latency_us = 500;  ///< the typical latency; a quarter to twice that
  int announces = 1;
  int creates_at_once = 100;
  int exists_needs_read = 0;  ///< 1: ExistsRule::needs_read
  /// 1: Every client has credentials of its own, and no other client may read its lock znodes.
  int hides_contenders = 0;
  std::array<int, kMostSlots> drift = {};  ///< in millionths; index: the slot
  /// 0: an old version that creates no hold markers; index: the slot.
  std::array<int, kMostSlots> marks = {1, 1, 1, 1};
  std::vector<ObjectPlan> objects;
  friend bool operator==(const Setup&, const Setup&) = default;
};

/// The use of a hold by its program.
enum class Ending : std::uint8_t {
  release,     ///< after its time
  throws,      ///< the handler throws, which destroys the hold
  until_lost,  ///< after its time or at its loss
  /// Acquires it again after half of its time, and releases that hold later.
  nested,
  commits,  ///< a guarded transaction at half of its time
  renews,
  /// As a thread that called lock(). It can exit without unlock().
  locks,
};
constexpr Ending last(Ending) noexcept {
  return Ending::locks;
}

enum class Act : std::uint8_t {
  acquire,
  fault,
  set_permits,
  request_release,
  force_release,
  lead,    ///< a latch or an election contends
  resign,  ///< closes the candidate and creates another
};
constexpr Act last(Act) noexcept {
  return Act::resign;
}

/// An action at its time. Times are in microseconds.
struct PlanStep {
  std::int64_t at = 0;
  Act act = Act::acquire;
  int slot = 0;
  int object = 0;
  int owner = 0;           ///< 0: a unique owner
  int reads = 0;           ///< for a SharedMutex
  int number = 1;          ///< permits; weight
  std::int64_t wait = -1;  ///< -1: no limit; 0: one attempt
  std::int64_t stop = -1;  ///< the time of the stop request
  std::int64_t hold = 0;
  Ending ending = Ending::release;
  Fault fault = Fault::pause_short;
  std::int64_t length = 0;  ///< of the fault
  int salt = 0;             ///< selects the fault's details
  friend bool operator==(const PlanStep&, const PlanStep&) = default;
};

/// All choices of a run. Equal plans always lead to equal histories. A plan without some of its
/// steps is a plan, too.
struct Plan {
  std::uint64_t seed = 0;  ///< determines the latencies
  Setup setup;
  std::vector<PlanStep> steps;  ///< in order of time
  friend bool operator==(const Plan&, const Plan&) = default;
};

/// Writes one line for the setup, for each object and for each step, with the values that differ
/// from the defaults.
std::string to_text(const Plan& plan);
std::string to_text(const PlanStep& step);
/// Returns std::nullopt if the text is not a plan.
std::optional<Plan> parse_plan(const std::string& text);

}  // namespace zklock::simulator
