// SPDX-License-Identifier: Apache-2.0
// A resource that checks no token may receive a late write of a lost holder. Either a request is
// still on the network, or a disconnected process continues to write. The promise: with a lock
// delay, the lock is granted to no contender for that time after a crash. After a release, the next
// contender is granted at once.
//
// The holder that crashes is a process of its own, a copy of this program. It is killed with
// SIGKILL.
#include <algorithm>
#include <chrono>
#include <future>
#include <iostream>
#include <string>
#include <thread>

#include <unistd.h>
#include <zklock/zklock.h>

#include "child.h"
#include "promise.h"

namespace {

using namespace std::chrono_literals;
using example::promise;
using zklock::LeaseClock;

constexpr auto kDelay = 3s;
const std::string kPath = "/examples/delayed";

zklock::ClientOptions client_options(const std::string& hosts) {
  zklock::ClientOptions options;
  options.hosts = hosts;
  options.session_timeout = 4s;  // after a crash, the others wait for this time and for the delay
  return options;
}

// Holds until it is killed.
int hold_for_ever(const std::string& hosts) {
  zklock::Client client(client_options(hosts));
  zklock::Mutex mutex(client, kPath, {.lock_delay = kDelay});
  const zklock::Hold hold = mutex.acquire();
  for (;;) ::pause();
}

// Returns whether a process holds, as a server reports it.
bool holds(const zklock::Mutex& mutex, pid_t pid) {
  return std::ranges::any_of(mutex.participants(30s), [pid](const zklock::Participant& p) {
    return p.pid == pid && p.holds;
  });
}

void after_a_crash(const std::string& hosts) {
  zklock::Client client(client_options(hosts));
  zklock::Mutex mutex(client, kPath);
  example::Child holder({example::kOwnProgram, "--holder", hosts});
  for (int i = 0; i < 3000 && !holds(mutex, holder.pid()); ++i) std::this_thread::sleep_for(10ms);
  promise(holds(mutex, holder.pid()), "a process holds the lock");
  auto next = mutex.async_acquire({.deadline = 60s});
  holder.kill();
  std::cout << "it was killed with SIGKILL" << std::endl;

  // The last time at which the killed process was listed as the holder. Its znode was deleted
  // later.
  auto seen = LeaseClock::now();
  for (auto queried = seen; holds(mutex, holder.pid()); queried = LeaseClock::now()) {
    seen = queried;
    std::this_thread::sleep_for(10ms);
  }
  std::cout << "its session has expired" << std::endl;
  zklock::Hold hold = next.get();
  promise(hold && LeaseClock::now() - seen >= kDelay,
          "the next is granted when the delay has ended");

  // The next contenders set a long delay, but release.
  zklock::Mutex careful(client, kPath, {.lock_delay = 24h});
  auto first = careful.async_acquire({.deadline = 60s});
  auto second = careful.async_acquire({.deadline = 60s});
  hold.release();
  hold = first.get();
  promise(static_cast<bool>(hold), "after a release there is no delay");
  hold.release();
  promise(static_cast<bool>(second.get()), "however long it would be after a crash");
}

}  // namespace

int main(int argc, char** argv) {
  if (argc == 3 && std::string(argv[1]) == "--holder") return hold_for_ever(argv[2]);
  return example::run(argc, argv, after_a_crash);
}
