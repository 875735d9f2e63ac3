// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "tests/model/simulator/dice.h"
#include "tests/model/simulator/fault.h"

namespace zklock::simulator {

/// The public classes, as the simulation uses them.
enum class LockClass : std::uint8_t {
  reentrant,
  mutex,
  shared,
  semaphore,
  counted,  ///< a semaphore whose number is shared
  multi,    ///< of the first two paths
  quorum,
  priority,
  latch,
  election,
  observer,
  election_observer,
};

/// An object that every process makes for itself. Times are in milliseconds; 0: without.
struct ObjectPlan {
  LockClass kind = LockClass::reentrant;
  int path = 0;
  int number = 1;  ///< permits; weight
  int batch = 1;
  int keep_idle = 0;
  int max_hold = 0;
  int lock_delay = 0;
  int listens = 0;
  int fails_on_loss = 0;
  int proclaims = 0;  ///< how many values each leader says
  friend bool operator==(const ObjectPlan&, const ObjectPlan&) = default;
};

inline constexpr std::size_t most_slots = 4;

/// The world before the first step.
struct Setup {
  int slots = 2;      ///< processes at a time
  int ensembles = 1;  ///< to each of which each process has a client
  int paths = 1;
  int session_ms = 6000;
  int relay_ms = 0;  ///< half a tick
  int jitter_ms = 0;
  int latency_us = 500;  ///< about
  int announces = 1;
  int creates_at_once = 100;
  int create_only = 0;                     ///< strangers may create below the paths, and not delete
  std::array<int, most_slots> drift = {};  ///< in millionths, by slot
  std::vector<ObjectPlan> objects;
  friend bool operator==(const Setup&, const Setup&) = default;
};

/// What a user does with a hold.
enum class Ending : std::uint8_t {
  release,     ///< after its time
  throws,      ///< the handler throws, and so it is destroyed
  until_lost,  ///< after its time, or as soon as it is lost
  nested,      ///< takes it once more at half of its time, and gives back that one later
  commits,     ///< writes under its guard at half of its time
  renews,
  locks,  ///< it is a thread that has called lock(), and may end without unlocking
};

enum class Act : std::uint8_t {
  acquire,
  fault,
  set_permits,
  ask_release,
  force_release,
  lead,    ///< of a latch or an election: contends
  resign,  ///< closes it; there is another afterwards
};

/// One thing that somebody does, at its time. Times are in microseconds.
struct PlanStep {
  std::int64_t at = 0;
  Act act = Act::acquire;
  int slot = 0;
  int object = 0;
  int owner = 0;           ///< 0: one of its own
  int reads = 0;           ///< of a SharedMutex
  int number = 1;          ///< permits; weight
  std::int64_t wait = -1;  ///< -1: for ever; 0: one attempt
  std::int64_t stop = -1;  ///< when the caller gives up
  std::int64_t hold = 0;
  Ending ending = Ending::release;
  Fault fault = Fault::pause_short;
  std::int64_t length = 0;  ///< of the fault
  int salt = 0;             ///< its details
  friend bool operator==(const PlanStep&, const PlanStep&) = default;
};

/// All that happens by choice. The same plan gives the same history, always; one without some of the
/// steps is a plan, too.
struct Plan {
  std::uint64_t seed = 0;  ///< of what is not in the steps: how long messages take
  Setup setup;
  std::vector<PlanStep> steps;  ///< by time
  friend bool operator==(const Plan&, const Plan&) = default;
};

/// One line for the setup, one for each object and each step: all that differs from the default.
std::string to_text(const Plan& plan);
std::string to_text(const PlanStep& step);
/// Nothing when it is no plan.
std::optional<Plan> parse_plan(const std::string& text);

}  // namespace zklock::simulator
