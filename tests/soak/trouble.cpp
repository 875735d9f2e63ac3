// SPDX-License-Identifier: Apache-2.0
#include "soak/trouble.h"

#include <chrono>
#include <stdexcept>
#include <thread>

#include "support/expire_session.h"
#include "support/raw_client.h"

namespace zklock::soak {
namespace {

using namespace std::chrono_literals;

void none(const Scene& /*scene*/) {}

void serve_again(testing::ZooKeeperServer& server) {
  server.start();
  if (!server.wait_until_serving(kStarting)) throw std::runtime_error("no server: " + server.log());
}

// No bytes pass, and the ends are not notified: for less than a lease, or longer than a session.
void cut(const Scene& scene) {
  scene.forwarder.cut();
  std::this_thread::sleep_for(scene.random() % 2 == 0 ? 1s : 6s);
  scene.forwarder.mend();
}

void expire(const Scene& scene) {
  for (Client* const client : scene.clients) {
    if (!client->wait_until_connected(20s)) continue;
    try {
      testing::expire_session(scene.server.hosts(), client->session_id());
    } catch (const testing::ConnectError&) {  // the client has a new one by now
    }
  }
}

void kill(const Scene& scene) {
  scene.server.kill_hard();
  serve_again(scene.server);
}

void restart(const Scene& scene) {
  scene.server.stop();
  serve_again(scene.server);
}

void pause(const Scene& scene) {
  scene.server.pause();
  std::this_thread::sleep_for(2s);
  scene.server.resume();
}

// Deletes lock paths while contenders hold and wait there.
void delete_paths(const Scene& scene) {
  testing::RawClient raw(scene.server.hosts());
  for (const char* kind : {"reentrant", "shared", "priority", "latch"}) {
    (void)raw.delete_recursive(std::string("/soak/") + kind);
  }
}

constexpr Trouble kTroubles[] = {
    {"none", none},       {"cut", cut},     {"expire", expire},
    {"kill", kill},       {"none", none},   {"delete paths", delete_paths},
    {"restart", restart}, {"pause", pause},
};

}  // namespace

std::span<const Trouble> all_troubles() {
  return kTroubles;
}

}  // namespace zklock::soak
