// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <vector>

#include "zklock/testing/test_server.h"

namespace zklock::soak {

// The resources of this process. Memory is read after malloc_trim(), so memory that was freed does
// not count as resident.
struct ProcessFigures {
  std::size_t descriptors = 0;
  std::size_t threads = 0;
  double resident_kb = 0;
  double heap_kb = 0;  // memory that malloc() has allocated

  static ProcessFigures now();
};

// The state that a server has of its clients.
struct ServerFigures {
  std::size_t sessions = 0;
  std::size_t connections = 0;  // with a session
  std::size_t watches = 0;
  // All leaves below /soak, except the `count` znodes of semaphores. An empty container counts
  // until the server deletes it.
  std::vector<std::string> nodes = {};

  // Returns nullopt if the server does not answer.
  static std::optional<ServerFigures> of(const testing::TestServer& server);
};

}  // namespace zklock::soak
