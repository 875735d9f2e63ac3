// SPDX-License-Identifier: Apache-2.0
#include "soak/fault.h"

#include <chrono>
#include <stdexcept>
#include <thread>

#include "support/raw_client.h"
#include "zklock/testing/servers/expire_session.h"

namespace zklock::soak {
namespace {

using namespace std::chrono_literals;

void none(const FaultTargets& /*targets*/) {}

void serve_again(testing::TestServer& server) {
  server.start();
  if (!server.wait_until_serving(kStarting)) throw std::runtime_error("no server: " + server.log());
}

// No bytes pass, and the ends are not notified: for less than a lease, or longer than a session.
void cut(const FaultTargets& targets) {
  targets.proxy.cut();
  std::this_thread::sleep_for(targets.random() % 2 == 0 ? 1s : 6s);
  targets.proxy.mend();
}

void expire(const FaultTargets& targets) {
  for (Client* const client : targets.clients) {
    if (!client->wait_until_connected(20s)) continue;
    try {
      testing::expire_session(targets.server.hosts(), client->session_id());
    } catch (const testing::UnknownSession&) {  // the client has a new one by now
    }
  }
}

void kill(const FaultTargets& targets) {
  targets.server.kill();
  serve_again(targets.server);
}

void restart(const FaultTargets& targets) {
  targets.server.stop();
  serve_again(targets.server);
}

void pause(const FaultTargets& targets) {
  targets.server.pause();
  std::this_thread::sleep_for(2s);
  targets.server.resume();
}

// Deletes lock paths while contenders hold and wait there.
void delete_paths(const FaultTargets& targets) {
  testing::RawClient raw(targets.server.hosts());
  for (const char* kind : {"reentrant", "shared", "priority", "latch"}) {
    (void)raw.delete_recursive(std::string("/soak/") + kind);
  }
}

constexpr Fault kTroubles[] = {
    {"none", none},       {"cut", cut},     {"expire", expire},
    {"kill", kill},       {"none", none},   {"delete paths", delete_paths},
    {"restart", restart}, {"pause", pause},
};

}  // namespace

std::span<const Fault> all_faults() {
  return kTroubles;
}

}  // namespace zklock::soak
