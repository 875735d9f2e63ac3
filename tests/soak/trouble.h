// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <random>
#include <span>
#include <string>
#include <vector>

#include "support/forwarder.h"
#include "support/zookeeper_server.h"
#include "zklock/client.h"

namespace zklock::soak {

// How long a server may take to start, also on a machine that has much else to do.
inline constexpr std::chrono::minutes kStarting{5};

// What trouble can be made with.
struct Scene {
  testing::ZooKeeperServer& server;
  testing::Forwarder& forwarder;        // one of the clients is behind it
  const std::vector<Client*>& clients;  // whose sessions may be ended
  std::mt19937& random;
};

// Something that happens while the crew works; all is in order again when make() has returned.
struct Trouble {
  const char* name;
  void (*make)(const Scene& scene);  // throws when a server does not come back
};

std::span<const Trouble> all_troubles();

}  // namespace zklock::soak
