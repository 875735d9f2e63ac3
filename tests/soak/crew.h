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

// What was done.
struct Tally {
  std::uint64_t cycles = 0;
  std::map<std::string, std::uint64_t> by_kind = {};
  std::map<Errc, std::uint64_t> errors = {};
  std::vector<std::string> unexpected = {};  // that no trouble with servers or sessions explains

  void add(const Tally& other);
};

// Threads that do one cycle after the other, of all kinds, until they are told to stop. While it
// lives, all its clients must.
//
// Thread-safety: cycles() from any thread, the rest from one.
class Crew {
 public:
  // Each thread works at one of the clients, and with the next one as its rival.
  Crew(const std::vector<Client*>& clients, const ClientOptions& options, std::size_t threads,
       unsigned first_number);
  ~Crew();
  Crew(const Crew&) = delete;
  Crew& operator=(const Crew&) = delete;

  std::uint64_t cycles() const { return cycles_; }

  // Ends the threads, each after its cycle. False when some have not come back by then: what they
  // wait for never comes.
  bool stop(std::chrono::seconds longest);
  // After stop().
  Tally tally() const;

 private:
  void work(Site site, Tally& tally);

  std::atomic<std::uint64_t> cycles_{0};
  std::atomic<std::size_t> working_{0};
  std::atomic<bool> stopped_{false};
  std::vector<std::unique_ptr<Tally>> tallies_;  // of one thread each
  std::vector<std::jthread> threads_;
};

}  // namespace zklock::soak
