// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "soak/cycles.h"
#include "zklock/error.h"

namespace zklock::soak {

// The counts of a run.
struct Tally {
  std::uint64_t cycles = 0;
  std::map<std::string, std::uint64_t> by_kind = {};
  std::map<Errc, std::uint64_t> errors = {};
  std::vector<std::string> unexpected = {};  // errors that no fault explains

  void add(const Tally& other);
};

// Threads that run cycles of all kinds until stop(). REQUIRES: all clients outlive it.
//
// Thread-safety: cycles() from any thread, the rest from one.
class Crew {
 public:
  // Each thread uses one of the clients, and the next client as its rival.
  Crew(const std::vector<Client*>& clients, const ClientOptions& options, std::size_t threads,
       unsigned first_number);
  ~Crew();
  Crew(const Crew&) = delete;
  Crew& operator=(const Crew&) = delete;

  std::uint64_t cycles() const { return cycles_; }

  // Ends each thread after its current cycle. Returns false if some still run after `longest`: they
  // wait for an event that never comes.
  bool stop(std::chrono::seconds longest);
  // REQUIRES: stop() has returned true.
  Tally tally() const;

 private:
  void work(Site site, Tally& tally);

  std::atomic<std::uint64_t> cycles_{0};
  std::atomic<std::size_t> working_{0};
  std::atomic<bool> stopped_{false};
  std::vector<std::unique_ptr<Tally>> tallies_;  // one for each thread
  std::vector<std::jthread> threads_;
};

}  // namespace zklock::soak
