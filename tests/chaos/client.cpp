// SPDX-License-Identifier: Apache-2.0
// A process that locks until it is ended, for the conductor's faults. It uses only the public API.
//
//   zklock_chaos_client <hosts> <socket of the collector> <number> <life> <seed>
//                       <session timeout in ms>
//
// SIGTERM: ends in good order. SIGUSR1: ends at once, with all that it holds. SIGUSR2: closes its
// Client while its threads use it.
#include <chrono>
#include <csignal>
#include <cstdlib>
#include <exception>
#include <iostream>
#include <optional>
#include <stop_token>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include <spdlog/sinks/stdout_sinks.h>
#include <spdlog/spdlog.h>
#include <unistd.h>

#include "chaos/collector_link.h"
#include "chaos/locks.h"
#include "chaos/worker.h"
#include "chaos/workload.h"
#include "zklock/leader_latch.h"

namespace zklock::chaos {
namespace {

using namespace std::chrono_literals;

constexpr std::chrono::seconds kTimeout{60};

ClientOptions options_for(char** argv) {
  ClientOptions options;
  options.hosts = argv[1];
  options.session_timeout = std::chrono::milliseconds(std::atoi(argv[6]));
  options.connection_timeout = 5s;
  options.retry_delay_max = 500ms;
  options.application = "chaos";
  options.logger = spdlog::stdout_logger_mt("chaos");
  options.logger->set_level(spdlog::level::warn);
  return options;
}

// Blocks the signals in all threads, so that only main() receives them.
sigset_t block_signals() {
  sigset_t signals;
  ::sigemptyset(&signals);
  for (const int number : {SIGTERM, SIGUSR1, SIGUSR2}) ::sigaddset(&signals, number);
  ::pthread_sigmask(SIG_BLOCK, &signals, nullptr);
  return signals;
}

// Checks that no znode of the session is left after everything was released. The session still
// lives. Retries while the servers are unreachable.
void leave_nothing(Client& client, CollectorLink& link) {
  if (!client.flush(kTimeout)) {
    link.send_line("V the releases are not confirmed");
    return;
  }
  const auto until = std::chrono::steady_clock::now() + kTimeout;
  for (;;) {
    try {
      for (const std::string& node : Locks(client, link).own_nodes()) {
        link.send_line("V released, but its znode exists: " + node);
      }
      return;
    } catch (const Error& error) {
      if (std::chrono::steady_clock::now() < until) continue;
      link.send_line(std::string("V no answer at rest: ") + error.what());
      return;
    }
  }
}

int run(char** argv) {
  const sigset_t signals = block_signals();
  const std::string collector = argv[2];
  const auto number = static_cast<unsigned>(std::atoi(argv[3]));
  const auto life = static_cast<unsigned>(std::atoi(argv[4]));
  const std::uint64_t seed = std::strtoull(argv[5], nullptr, 10);

  CollectorLink link(collector);
  link.send_line("I " + std::to_string(number) + ' ' + std::to_string(life));
  Client client(options_for(argv));
  std::optional<Locks> locks(std::in_place, client, link);
  // Every second client holds a lock all the time, so it sends heartbeats all the time.
  std::optional<LeaderLatch> own_latch;
  if (number % 2 == 0) {
    own_latch.emplace(client, "/latch-" + std::to_string(number));
    own_latch->start();
  }
  std::vector<std::jthread> threads;
  for (unsigned thread = 0; thread <= kWorkers; ++thread) {
    threads.emplace_back([&, thread](std::stop_token ending) {
      Worker worker(client, *locks, collector, number, life, thread, seed);
      thread < kWorkers ? worker.run(ending) : worker.run_for_leadership(ending);
    });
  }
  int signal = 0;
  ::sigwait(&signals, &signal);
  if (signal == SIGUSR1) ::_exit(kLeftCode);
  if (signal == SIGUSR2) client.close();
  for (std::jthread& thread : threads) thread.request_stop();
  threads.clear();
  own_latch.reset();
  locks.reset();  // the listeners have been called; retained znodes are deleted
  if (signal == SIGTERM) leave_nothing(client, link);
  client.close();
  link.send_line("F " + std::to_string(number) + ' ' + std::to_string(life));
  return 0;
}

}  // namespace
}  // namespace zklock::chaos

int main(int argc, char** argv) {
  if (argc != 7) return 2;
  try {
    return zklock::chaos::run(argv);
  } catch (const std::exception& error) {
    std::cout << "error " << error.what() << std::endl;
    return 1;
  }
}
