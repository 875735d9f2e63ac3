// SPDX-License-Identifier: Apache-2.0
// Two processes are candidates, and the leader proclaims its address. Clients observe the election.
// The leader is killed with SIGKILL, and the clients receive the address of the next leader. The
// promise: they never take the value of a former leader for that of the current one. The program
// starts both processes as copies of itself.

#include <chrono>
#include <condition_variable>
#include <iostream>
#include <map>
#include <mutex>
#include <string>
#include <utility>
#include <vector>

#include <unistd.h>
#include <zklock/zklock.h>

#include "candidate.h"
#include "child.h"
#include "promise.h"

namespace {

using namespace std::chrono_literals;
using example::promise;
using zklock::ElectionState;

constexpr auto kTimeout = 60s;

zklock::ClientOptions client_options(const std::string& hosts) {
  zklock::ClientOptions options;
  options.hosts = hosts;
  options.session_timeout = 4s;  // a killed leader counts as the leader for about this time
  options.application = "proclaim_address";
  return options;
}

// A server process. It proclaims its address when it leads, and is killed at the end.
class Server {
 public:
  Server(const std::string& hosts, const std::string& path, std::string address)
      : address_(std::move(address)),
        process_({example::kOwnProgram, "--serve", hosts, path, address_}) {
    std::cout << "the server at " << address_ << " (pid " << process_.pid()
              << ") stands for election" << std::endl;
  }

  const std::string& address() const { return address_; }
  void kill() { process_.kill(); }

 private:
  std::string address_;
  example::Child process_;
};

// A client of the service. It records the observed states.
class Customer {
 public:
  Customer(const std::string& hosts, const std::string& path)
      : client_(client_options(hosts)), observer_(client_, path) {
    subscription_ = observer_.add_listener([this](const ElectionState& state) { note(state); });
  }
  bool sees(const std::string& address) {
    std::unique_lock lock(mutex_);
    return changed_.wait_for(lock, kTimeout,
                             [&] { return !seen_.empty() && seen_.back().value == address; });
  }
  // The states, in the order in which they were reported.
  std::vector<ElectionState> seen() {
    const std::lock_guard guard(mutex_);
    return seen_;
  }
  std::size_t candidates(const std::string& path) {
    return zklock::LockObserver(client_, path).state(10s).waiting + 1;
  }

 private:
  void note(const ElectionState& state) {
    const std::lock_guard guard(mutex_);
    seen_.push_back(state);
    changed_.notify_all();
  }

  std::mutex mutex_;
  std::condition_variable changed_;
  std::vector<ElectionState> seen_;  // guarded by mutex_
  zklock::Client client_;
  zklock::ElectionObserver observer_;
  zklock::Subscription subscription_;
};

// Returns whether each leader had one address only, and tokens only rose.
bool never_mixed_up(const std::vector<ElectionState>& seen) {
  zklock::FencingToken highest;
  std::map<zklock::FencingToken, std::string> addresses;
  for (const ElectionState& each : seen) {
    const auto leader = each.leader ? each.leader->token : highest;
    if (leader < highest || (each.value && !each.leader)) return false;
    highest = leader;
    if (each.value && addresses.emplace(leader, *each.value).first->second != *each.value) {
      return false;
    }
  }
  return addresses.size() >= 2;
}

void proclaim_address(const std::string& hosts) {
  // Each run has a path of its own, because the servers may have old data.
  const std::string path = "/zklock-address-" +
                           std::to_string(zklock::LeaseClock::now().time_since_epoch().count()) +
                           "-" + std::to_string(::getpid());
  Customer one(hosts, path);
  Customer two(hosts, path);
  Server first(hosts, path, "10.0.0.1:7000");
  promise(one.sees(first.address()) && two.sees(first.address()),
          "the clients see the leader's address: " + first.address());
  Server second(hosts, path, "10.0.0.2:7000");
  for (int i = 0; i < 3000 && one.candidates(path) < 2; ++i) ::usleep(10'000);
  promise(one.candidates(path) == 2 && one.seen().back().value == first.address(),
          "a waiting candidate is not taken for the leader");

  first.kill();
  std::cout << "the leader was killed with SIGKILL; it proclaimed no end" << std::endl;
  promise(one.sees(second.address()) && two.sees(second.address()),
          "the clients see the next leader's address: " + second.address());
  promise(never_mixed_up(one.seen()) && never_mixed_up(two.seen()),
          "no client took one leader's address for the other's");
  zklock::Client late(client_options(hosts));
  const auto queried = zklock::ElectionObserver(late, path).state(30s);
  promise(queried.value == second.address(), "a later query returns the same address");
}

}  // namespace

int main(int argc, char** argv) {
  if (argc == 5 && std::string(argv[1]) == "--serve") {
    return example::stand_for_election(
        client_options(argv[2]), argv[3],
        [&](const zklock::Leadership& leadership) { leadership.proclaim(argv[4]); });
  }
  return example::run(argc, argv, proclaim_address);
}
