// SPDX-License-Identifier: Apache-2.0
// One process of the demo. Its threads acquire one lock again and again, and use the shared
// resource while they hold it. The demo program starts several of these processes.

#include <atomic>
#include <chrono>
#include <iostream>
#include <string>
#include <thread>
#include <vector>

#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <sys/prctl.h>
#include <unistd.h>
#include <zklock/zklock.h>

#include "shared_resource.h"

namespace {

using namespace std::chrono_literals;
using example::Grant;
using example::SharedResource;
using zklock::Hold;
using zklock::LeaseClock;

// Special behaviour in the second round of the first thread.
enum class Special { none, nest, wait_to_be_killed };
constexpr int kSpecialThread = 1;
constexpr int kSpecialRound = 2;

struct Contender {
  zklock::ReentrantMutex& mutex;
  SharedResource& resource;
  int process;
  int thread;
  Special special;

  std::uint64_t contender_id() const {
    return (static_cast<std::uint64_t>(::getpid()) << 8U) | static_cast<std::uint64_t>(thread);
  }

  void lock_and_work(int round) const {
    const auto requested = LeaseClock::now();
    const Hold hold = mutex.acquire({.deadline = 30s});
    if (!hold) throw std::runtime_error("not granted within 30 s");

    Grant& grant = resource.enter(contender_id(), hold.token().zxid);
    grant.process = process;
    grant.thread = thread;
    grant.requested = requested;
    grant.granted = LeaseClock::now();
    // The last ten digits of the znode's name: the sequence number, in the order of arrival.
    const std::string node = hold.node();
    grant.arrival = std::stoll(node.substr(node.size() - 10));
    grant.state = Grant::inside;

    std::this_thread::sleep_for(20ms);  // the work
    if (thread == kSpecialThread && round == kSpecialRound) {
      if (special == Special::nest) nest(grant);
      if (special == Special::wait_to_be_killed) wait_to_be_killed(grant);
    }
    if (!hold.is_valid()) throw std::runtime_error("the lock was lost");
    resource.leave(contender_id(), grant);
  }

  // A thread that holds may lock again any number of times. No other contender is granted
  // meanwhile.
  void nest(Grant& grant) const {
    const Hold second = mutex.acquire();
    resource.enter_again(contender_id(), second.token().zxid);
    {
      const Hold third = mutex.acquire();
      resource.enter_again(contender_id(), third.token().zxid);
      grant.depth = mutex.hold_count();
    }
    resource.enter_again(contender_id(), second.token().zxid);
  }

  void wait_to_be_killed(const Grant& grant) const {
    resource.grant_to_kill = static_cast<int>(&grant - resource.grants.data());
    std::this_thread::sleep_for(30s);
    throw std::runtime_error("this process was not killed");
  }
};

int contend(const std::string& hosts, const std::string& path, SharedResource& resource,
            int process, int threads, int rounds, Special special) {
  zklock::ClientOptions options;
  options.hosts = hosts;
  options.session_timeout = 4s;  // a killed holder's lock is released about this much later
  options.application = "demo";
  zklock::Client client(options);
  zklock::ReentrantMutex mutex(client, path);
  if (!client.wait_until_connected(15s)) throw std::runtime_error("no connection within 15 s");

  ++resource.processes_ready;
  while (!resource.start) std::this_thread::sleep_for(1ms);

  std::atomic<int> failures = 0;
  {
    std::vector<std::jthread> workers;
    for (int thread = 1; thread <= threads; ++thread) {
      workers.emplace_back([&, thread] {
        // The lock znode contains the name of the thread, for people and for participants().
        const std::string name = {static_cast<char>('A' + process),
                                  static_cast<char>('0' + thread)};
        ::pthread_setname_np(::pthread_self(), name.c_str());
        const Contender contender{mutex, resource, process, thread, special};
        try {
          for (int round = 1; round <= rounds; ++round) contender.lock_and_work(round);
        } catch (const std::exception& e) {
          std::cerr << name << ": " << e.what() << std::endl;
          ++failures;
        }
      });
    }
  }
  // Releases run in the background: wait until the ensemble has confirmed them.
  if (!client.flush(10s)) throw std::runtime_error("releases were not confirmed within 10 s");
  return failures == 0 ? 0 : 1;
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 8) {
    std::cerr << "usage: contender HOSTS PATH RESOURCE_FILE PROCESS THREADS ROUNDS "
                 "none|nest|wait_to_be_killed\n";
    return 2;
  }
  try {
    ::prctl(PR_SET_PDEATHSIG, SIGKILL);  // do not outlive the demo
    const int fd = ::open(argv[3], O_RDWR | O_CLOEXEC);
    SharedResource& resource = example::map_shared_resource(fd, /*create=*/false);
    const std::string special = argv[7];
    return contend(argv[1], argv[2], resource, std::stoi(argv[4]), std::stoi(argv[5]),
                   std::stoi(argv[6]),
                   special == "nest"                ? Special::nest
                   : special == "wait_to_be_killed" ? Special::wait_to_be_killed
                                                    : Special::none);
  } catch (const std::exception& e) {
    std::cerr << "contender " << argv[4] << ": " << e.what() << std::endl;
    return 1;
  }
}
