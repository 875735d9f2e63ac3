// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <random>
#include <vector>

#include "soak/crew.h"
#include "soak/fault.h"
#include "soak/record.h"
#include "zklock/client.h"
#include "zklock/testing/test_server.h"

namespace zklock::soak {

struct Plan {
  std::chrono::seconds time{1800};
  std::uint64_t cycles = 0;  // the end of the run; 0: after `time`
  std::size_t threads = 6;
  unsigned seed = 1;
};

// Rounds of work with one fault each. After each round comes a rest, at which the figures are
// read.
//
// Thread-safety: none.
class Soak {
 public:
  // Starts a server, and clients that live as long as this object.
  explicit Soak(const Plan& plan);

  // Throws if a server does not restart. Ends the process if a thread does not return.
  void run();
  const Record& record() const { return record_; }

 private:
  bool is_over() const;
  // Returns the name of the fault.
  const char* work(std::size_t round);
  void rest(const char* after);
  bool is_at_rest(const ServerFigures& server) const;
  void settle_base();
  double seconds() const;
  ClientOptions options(std::uint16_t port) const;

  const Plan plan_;
  const std::chrono::steady_clock::time_point begun_ = std::chrono::steady_clock::now();
  std::mt19937 random_{plan_.seed};
  testing::TestServer server_;
  std::vector<std::unique_ptr<Client>> clients_;
  std::size_t base_descriptors_ = 0;
  std::size_t base_threads_ = 0;
  unsigned next_number_ = 1;
  Record record_;
};

}  // namespace zklock::soak
