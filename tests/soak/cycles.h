// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <cstdint>
#include <random>
#include <span>
#include <string>

#include "zklock/client.h"
#include "zklock/client_options.h"

namespace zklock::soak {

// Longer than any cycle waits for somebody else's turn; servers are away for less than that.
inline constexpr std::chrono::seconds kTurn{5};

// Where one thread works.
//
// Thread-safety: none; each thread has its own.
class Site {
 public:
  // The clients outlive it. `number` is unlike that of every other.
  Site(Client& at, Client& beside, ClientOptions of_new_ones, unsigned number)
      : client(at), rival(beside), options(std::move(of_new_ones)), number_(number) {}

  // A lock of that kind: mostly one that others want too, at times one that nobody has ever named.
  std::string path(const char* kind);
  // From 0 to below `end`.
  unsigned dice(unsigned end) {
    return std::uniform_int_distribution<unsigned>(0, end - 1)(random_);
  }

  Client& client;
  Client& rival;  // another one
  const ClientOptions options;

 private:
  const unsigned number_;
  unsigned names_ = 0;
  std::mt19937 random_{number_};
};

// One way of using the library, from making the object to destroying it.
struct Kind {
  const char* name;
  unsigned weight;     // how often, among the others
  void (*run)(Site&);  // throws what the library throws
};

std::span<const Kind> all_kinds();

}  // namespace zklock::soak
