// SPDX-License-Identifier: Apache-2.0
// Two processes are candidates, and the leader is killed with SIGKILL. The promise: the other one
// leads when the session of the killed process has expired. The program starts both processes as
// copies of itself.

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <iostream>
#include <string>
#include <system_error>
#include <thread>

#include <fcntl.h>
#include <poll.h>
#include <unistd.h>
#include <zklock/zklock.h>

#include "candidate.h"
#include "child.h"
#include "promise.h"

namespace {

using namespace std::chrono_literals;
using zklock::LeaseClock;

constexpr auto kSessionTimeout = 4s;
// A session expires within its timeout and two ticks of the servers. A tick is 2 s at most, unless
// the servers are configured otherwise.
constexpr auto kTick = 2s;

zklock::ClientOptions client_options(const std::string& hosts) {
  zklock::ClientOptions options;
  options.hosts = hosts;
  options.session_timeout = kSessionTimeout;
  options.application = "leader_failover";
  return options;
}

// A pipe with both ends.
struct Pipe {
  Pipe() {
    int ends[2];
    if (::pipe2(ends, O_CLOEXEC) != 0) throw std::system_error(errno, std::generic_category());
    out = ends[0];
    in = ends[1];
  }
  ~Pipe() {
    ::close(out);
    ::close(in);
  }
  Pipe(const Pipe&) = delete;
  Pipe& operator=(const Pipe&) = delete;

  int out;
  int in;
};

// A candidate process. It prints its token when it leads, and is killed at the end.
class Candidate {
 public:
  Candidate(const std::string& name, const std::string& hosts, const std::string& path)
      : process_({example::kOwnProgram, "--candidate", hosts, path}, said_.in) {
    std::cout << "process " << name << " (pid " << process_.pid() << ") stands for election"
              << std::endl;
  }

  void kill() { process_.kill(); }

  // Returns the token of its leadership, or 0 if it does not print one in time.
  std::int64_t wait_until_it_leads(LeaseClock::duration longest) const {
    const auto until = LeaseClock::now() + longest;
    std::string line;
    for (char c = 0; c != '\n';) {
      const auto left = std::chrono::ceil<std::chrono::milliseconds>(until - LeaseClock::now());
      pollfd ready{said_.out, POLLIN, 0};
      // Output that is already there counts, even if no time is left.
      if (::poll(&ready, 1, static_cast<int>(std::max(left, 0ms).count())) <= 0) return 0;
      if (::read(said_.out, &c, 1) != 1) return 0;
      line += c;
    }
    return std::stoll(line);
  }

 private:
  Pipe said_;
  example::Child process_;
};

void fail_over(const std::string& hosts) {
  const std::string path = "/zklock-leader-" +
                           std::to_string(LeaseClock::now().time_since_epoch().count()) + "-" +
                           std::to_string(::getpid());
  zklock::Client client(client_options(hosts));
  const zklock::LeaderLatch observer(client, path);  // never started: it only observes

  Candidate first("A", hosts, path);
  const std::int64_t first_token = first.wait_until_it_leads(30s);
  example::promise(first_token > 0, "the only candidate leads");
  Candidate second("B", hosts, path);
  for (int i = 0; i < 3000 && observer.participants(10s).size() < 2; ++i) {
    std::this_thread::sleep_for(10ms);
  }
  const auto leader = observer.leader(10s);
  example::promise(leader && leader->token.zxid == first_token,
                   "A leads while B waits (token " + std::to_string(first_token) + ")");
  example::promise(second.wait_until_it_leads(0s) == 0, "B does not lead while A does");

  first.kill();
  const auto killed_at = LeaseClock::now();
  std::cout << "process A was killed with SIGKILL; B is not notified" << std::endl;
  const std::int64_t second_token = second.wait_until_it_leads(60s);
  const auto after =
      std::chrono::duration_cast<std::chrono::milliseconds>(LeaseClock::now() - killed_at);
  example::promise(second_token > 0 && after <= kSessionTimeout + 2 * kTick,
                   "B leads by itself, within session timeout and two ticks: after " +
                       std::to_string(after.count()) + " ms");
  example::promise(second_token > first_token,
                   "the new leader's token is higher: " + std::to_string(second_token));
  const auto now = observer.leader(10s);
  example::promise(now && now->token.zxid == second_token, "the servers report it too");
}

}  // namespace

int main(int argc, char** argv) {
  if (argc == 4 && std::string(argv[1]) == "--candidate") {
    return example::stand_for_election(client_options(argv[2]), argv[3],
                                       [](const zklock::Leadership& leadership) {
                                         std::cout << leadership.token().zxid << std::endl;
                                       });
  }
  return example::run(argc, argv, fail_over);
}
