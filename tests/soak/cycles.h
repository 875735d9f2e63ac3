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

// Longer than any cycle waits for another holder. A server is down for less than that.
inline constexpr std::chrono::seconds kCallTimeout{5};

// The environment of one thread.
//
// Thread-safety: none; each thread has its own.
class Site {
 public:
  // REQUIRES: the clients outlive it, and no other Site has this `number`.
  Site(Client& at, Client& beside, ClientOptions of_new_ones, unsigned number)
      : client(at), rival(beside), options(std::move(of_new_ones)), number_(number) {}

  // Returns a path for that kind: usually a shared one, sometimes one that was never used before.
  std::string path(const char* kind);
  // Returns a random number from 0 to `end` - 1.
  unsigned below(unsigned end) {
    return std::uniform_int_distribution<unsigned>(0, end - 1)(random_);
  }

  Client& client;
  Client& rival;  // another client
  const ClientOptions options;

 private:
  const unsigned number_;
  unsigned names_ = 0;
  std::mt19937 random_{number_};
};

// One way to use the library, from the construction of the object to its destruction.
struct Kind {
  const char* name;
  unsigned weight;     // relative frequency
  void (*run)(Site&);  // throws the errors of the library
};

std::span<const Kind> all_kinds();

}  // namespace zklock::soak
