// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <random>
#include <span>
#include <string>
#include <vector>

#include "zklock/client.h"
#include "zklock/testing/fault_proxy.h"
#include "zklock/testing/test_server.h"

namespace zklock::soak {

// The longest time that a server may take to start, even on a busy machine.
inline constexpr std::chrono::minutes kStarting{5};

// The objects that a fault acts on.
struct FaultTargets {
  testing::TestServer& server;
  testing::FaultProxy& proxy;           // one of the clients is behind it
  const std::vector<Client*>& clients;  // their sessions may be ended
  std::mt19937& random;
};

// A fault during the work of the crew. It is over when make() returns.
struct Fault {
  const char* name;
  void (*make)(const FaultTargets& targets);  // throws if a server does not restart
};

std::span<const Fault> all_faults();

}  // namespace zklock::soak
