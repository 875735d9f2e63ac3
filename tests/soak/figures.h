// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <vector>

#include "support/zookeeper_server.h"

namespace zklock::soak {

// What this process has. Memory is read after malloc_trim(): what has been freed and is merely kept
// by the allocator does not count as resident.
struct ProcessFigures {
  std::size_t descriptors = 0;
  std::size_t threads = 0;
  double resident_kb = 0;
  double heap_kb = 0;  // what malloc() has given out

  static ProcessFigures now();
};

// What a server has of its clients.
struct ServerFigures {
  std::size_t sessions = 0;
  std::size_t connections = 0;  // with a session
  std::size_t watches = 0;
  // All below /soak, but the numbers of semaphores, which stay, and their parents. Empty containers
  // count until the servers have taken them away.
  std::vector<std::string> nodes = {};

  // Nothing when the server does not answer.
  static std::optional<ServerFigures> of(const testing::ZooKeeperServer& server);
};

}  // namespace zklock::soak
