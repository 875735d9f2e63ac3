// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <map>
#include <random>
#include <stop_token>
#include <string>

#include "chaos/hold_exerciser.h"
#include "chaos/locks.h"
#include "chaos/workload.h"
#include "zklock/zklock.h"

namespace zklock::chaos {

// A thread of a client. It acquires locks in every way, holds them, usually for a short time, and
// releases them. It runs until end() is called or its client is closed.
//
// Thread-safety: for one thread.
class Worker {
 public:
  Worker(Client& client, Locks& locks, const std::string& socket_path, unsigned number,
         unsigned life, unsigned thread, std::uint64_t seed);

  void run(std::stop_token ending);
  // Contends for the leadership of the workload in a loop.
  void run_for_leadership(std::stop_token ending);

 private:
  // Runs `action`. Returns false if the client is closed.
  template <class Action>
  bool survives(Action action);
  void use_a_lock();
  std::size_t choose_lock();
  void use_mutex(std::size_t lock);
  void use_shared(std::size_t lock);
  void use_semaphore(std::size_t lock);
  void use_priority(std::size_t lock);
  void lead_by_latch(std::size_t lock);
  void be_elected(std::size_t lock);

  void lock_and_nest(ReentrantMutex& mutex, std::size_t lock);
  Hold cancel_early(ReentrantMutex& mutex);
  void throw_under_lock(ReentrantMutex& mutex, std::size_t lock);
  void fork_under_lock(ReentrantMutex& mutex, std::size_t lock);
  void downgrade(SharedMutex& mutex, std::size_t lock);

  // Holds and reports the grant. An empty Hold only counts as not granted.
  bool hold(const Hold& hold, std::size_t lock, Nanos call, int weight = 1);
  bool lead(const Leadership& leadership, const Owner& owner, std::size_t lock, Nanos call);
  void expect_count(const ReentrantMutex& mutex, const Hold& hold, int count);
  AcquireOptions in_time();
  std::chrono::microseconds some_time();  // for how long to hold
  unsigned below(unsigned limit);
  void complain(const std::string& what);
  void count(const std::string& what) { ++tally_[what]; }

  const bool quiet_;
  Client& client_;
  Locks& locks_;
  HoldExerciser hold_exerciser_;
  std::mt19937_64 random_;
  std::stop_token ending_;
  std::map<std::string, std::uint64_t> tally_;
};

}  // namespace zklock::chaos
