// SPDX-License-Identifier: Apache-2.0
#include "soak/soak.h"

#include <cstdlib>
#include <iostream>
#include <stdexcept>
#include <string>
#include <thread>

#include "support/wait_for.h"

namespace zklock::soak {
namespace {

using namespace std::chrono_literals;

// The shortest that the servers of this kit grant comfortably: losses take seconds.
constexpr std::chrono::milliseconds kSession{4000};
constexpr std::chrono::seconds kRound{8};
// Longer than any cycle takes, and than any session that nobody owns any more lasts.
constexpr std::chrono::seconds kPatience{90};

testing::ZooKeeperOptions server_options() {
  testing::ZooKeeperOptions options;
  // Empty containers go at once, also while somebody is on the way into one; those that were made
  // for a contender that then could not come, too. And no snapshots but at the start: from one that was written while clients came and went, some servers cannot start
  // again ("Failed to fetch acls", ZOOKEEPER-4846).
  options.extra_jvm_flags = {"-Dznode.container.checkIntervalMs=1000",
                             "-Dznode.container.maxNeverUsedIntervalMs=1000",
                             "-Dzookeeper.snapCount=100000000"};
  options.extra_config = {"maxClientCnxns=0"};
  return options;
}

}  // namespace

Soak::Soak(const Plan& plan) : plan_(plan), server_(server_options()) {
  server_.start();
  if (!server_.wait_until_serving(kStarting))
    throw std::runtime_error("no server: " + server_.log());
  constexpr std::size_t kClients = 3;
  for (std::size_t i = 0; i < kClients; ++i) {
    clients_.push_back(std::make_unique<Client>(options(server_.port())));
  }
}

ClientOptions Soak::options(std::uint16_t port) const {
  ClientOptions options;
  options.hosts = "127.0.0.1:" + std::to_string(port);
  options.session_timeout = kSession;
  options.connection_timeout = kTurn;
  options.retry_delay_max = 1s;
  options.application = "soak";
  return options;
}

double Soak::seconds() const {
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - begun_).count();
}

bool Soak::is_over() const {
  if (plan_.cycles > 0) return record_.cycles() >= plan_.cycles;
  return std::chrono::steady_clock::now() >= begun_ + plan_.time;
}

void Soak::run() {
  Record::print_head(std::cout);
  for (std::size_t round = 0; !is_over(); ++round) {
    const char* const trouble = work(round);
    if (round == 0) settle_base();
    rest(trouble);
  }
}

const char* Soak::work(std::size_t round) {
  const Trouble& trouble = all_troubles()[round % all_troubles().size()];
  // Both for this round only: what the forwarder keeps of old connections is not to be measured.
  testing::Forwarder forwarder(server_.port());
  Client behind(options(forwarder.port()));
  std::vector<Client*> all{&behind};
  for (const auto& client : clients_) all.push_back(client.get());
  Crew crew(all, options(server_.port()), plan_.threads, next_number_);
  next_number_ += static_cast<unsigned>(plan_.threads);

  const auto until = std::chrono::steady_clock::now() + kRound;
  std::this_thread::sleep_for(1s);
  trouble.make({server_, forwarder, all, random_});
  std::this_thread::sleep_until(until);
  if (!crew.stop(kPatience)) {
    std::cout << "BROKEN: threads do not come back after \"" << trouble.name << "\"" << std::endl;
    std::_Exit(1);
  }
  record_.add(crew.tally());
  return trouble.name;
}

// Threads that the library has for callbacks end when there was nothing to do for some seconds, and
// so the first that is seen is not the least.
void Soak::settle_base() {
  ProcessFigures least = ProcessFigures::now();
  const auto until = std::chrono::steady_clock::now() + 10s;
  (void)testing::eventually(
      [&] {
        const ProcessFigures now = ProcessFigures::now();
        least.descriptors = std::min(least.descriptors, now.descriptors);
        least.threads = std::min(least.threads, now.threads);
        return std::chrono::steady_clock::now() >= until;
      },
      20s, 200ms);
  base_descriptors_ = least.descriptors;
  base_threads_ = least.threads;
}

bool Soak::is_at_rest(const ServerFigures& server) const {
  const ProcessFigures process = ProcessFigures::now();
  return server.nodes.empty() && server.watches == 0 && server.sessions == clients_.size() &&
         server.connections == clients_.size() && process.descriptors <= base_descriptors_ &&
         process.threads <= base_threads_;
}

void Soak::rest(const char* after) {
  for (const auto& client : clients_) (void)client->flush(kPatience);
  Sample sample;
  const bool answered = testing::eventually(
      [&] {
        const auto server = ServerFigures::of(server_);
        if (server) sample.server = *server;
        return server && is_at_rest(*server);
      },
      kPatience, 250ms);
  static_cast<void>(answered);  // the figures say what is not as it should be
  sample.trouble = after;
  sample.seconds = seconds();
  sample.cycles = record_.cycles();
  sample.process = ProcessFigures::now();
  sample.clients = clients_.size();
  Record::print(std::cout, sample);
  record_.add(std::move(sample));
}

}  // namespace zklock::soak
