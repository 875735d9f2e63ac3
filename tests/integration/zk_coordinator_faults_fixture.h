// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <vector>

#include <gtest/gtest.h>

#include "integration/coordinator_probe.h"
#include "support/raw_client.h"
#include "support/shared_server.h"
#include "support/test_chroot.h"
#include "zklock/testing/servers/wait_for.h"

namespace zklock::client {

using testing::eventually;
using testing::RawClient;
using testing::SharedServer;
using testing::TestChroot;

inline std::vector<Event> of_kind(const Journal& journal, Event::Kind kind) {
  std::vector<Event> chosen;
  for (const Event& event : journal.events()) {
    if (event.kind == kind) chosen.push_back(event);
  }
  return chosen;
}

// A connection attempt at the moment of the session's end can block for two thirds of this timeout.
inline ClientOptions with_short_sessions(const testing::TestServer& server) {
  ClientOptions options = Probe::with(server.hosts());
  options.session_timeout = std::chrono::seconds(6);
  return options;
}

// The session survives a restart, even on a busy machine.
inline ClientOptions outlasting_a_restart(const testing::TestServer& server) {
  ClientOptions options = Probe::with(server.hosts());
  options.session_timeout = std::chrono::seconds(60);
  return options;
}

inline void restart(testing::TestServer& server) {
  server.start();
  ASSERT_TRUE(server.wait_until_serving()) << server.log();
}

}  // namespace zklock::client
