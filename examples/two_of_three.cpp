// SPDX-License-Identifier: Apache-2.0
// One lock on three ensembles, of which one is down. The promise: the other two are enough to hold
// the lock and to exclude other processes. One alone is not enough.
//
// Here the ensembles are chroots of one server. The ensemble that is down is an address without a
// server.
#include <chrono>
#include <optional>
#include <string>

#include <zklock/zklock.h>

#include "promise.h"

namespace {

using namespace std::chrono_literals;
using example::promise;

constexpr auto kUnreachable = "127.0.0.1:1";
const std::string kPath = "/examples/everywhere";

// A process, with a client for each ensemble.
struct Process {
  zklock::Client first;
  zklock::Client second;
  zklock::Client third;
  zklock::QuorumMutex mutex{{first, second, third}, kPath, {.ensemble_timeout = 500ms}};
};

void two_of_three(const std::string& hosts) {
  // The parents of a lock are created with it and exist as long as it is held: here, the chroots.
  zklock::Client root(hosts);
  const auto first = zklock::hold_lock(root, "/ensemble-1/chroot");
  const auto second = zklock::hold_lock(root, "/ensemble-2/chroot");

  Process one{zklock::Client(hosts + "/ensemble-1"), zklock::Client(hosts + "/ensemble-2"),
              zklock::Client(kUnreachable)};
  Process other{zklock::Client(hosts + "/ensemble-1"), zklock::Client(hosts + "/ensemble-2"),
                zklock::Client(kUnreachable)};
  zklock::QuorumHold hold = one.mutex.acquire({.deadline = 30s});
  promise(hold.state() == zklock::HoldState::held, "two of three ensembles are enough");
  promise(hold[0] && hold[1] && !hold[2], "it is held on those that are up");
  promise(!other.mutex.try_lock_for(2s), "no other process gets a majority");
  hold.release();
  promise(other.mutex.try_lock_for(30s), "until it is released");
  other.mutex.unlock();

  Process cut_off{zklock::Client(hosts + "/ensemble-1"), zklock::Client(kUnreachable),
                  zklock::Client(kUnreachable)};
  std::optional<zklock::Errc> error;
  try {
    promise(!cut_off.mutex.try_lock_for(30s), "one of three is no lock");
  } catch (const zklock::Error& e) {
    error = e.errc();
  }
  promise(error == zklock::Errc::not_connected, "one of three is an error, and no lock");
}

}  // namespace

int main(int argc, char** argv) {
  return example::run(argc, argv, two_of_three);
}
