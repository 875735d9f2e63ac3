// SPDX-License-Identifier: Apache-2.0
#include "soak/soak.h"

#include <cstdlib>
#include <iostream>
#include <stdexcept>
#include <string>
#include <thread>

#include "zklock/testing/servers/wait_for.h"

namespace zklock::soak {
namespace {

using namespace std::chrono_literals;

// The shortest timeout that the servers of this kit grant reliably: losses take seconds.
constexpr std::chrono::milliseconds kSession{4000};
constexpr std::chrono::seconds kRound{8};
// Longer than any cycle takes, and longer than an abandoned session lives.
constexpr std::chrono::seconds kTimeout{90};

testing::TestServerOptions server_options() {
  testing::TestServerOptions options;
  // The server deletes empty containers at once, even while a contender is about to create a znode
  // there, and containers that were never used. It writes no snapshots except at its start. Some
  // servers cannot restart from one that was written while clients came and went ("Failed to fetch
  // acls", ZOOKEEPER-4846).
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
  options.connection_timeout = kCallTimeout;
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
    const char* const fault = work(round);
    if (round == 0) settle_base();
    rest(fault);
  }
}

const char* Soak::work(std::size_t round) {
  const Fault& fault = all_faults()[round % all_faults().size()];
  // For this round only: its memory and its descriptors must not be measured.
  testing::FaultProxy proxy({server_.port()});
  Client behind(options(proxy.port()));
  std::vector<Client*> all{&behind};
  for (const auto& client : clients_) all.push_back(client.get());
  Crew crew(all, options(server_.port()), plan_.threads, next_number_);
  next_number_ += static_cast<unsigned>(plan_.threads);

  const auto until = std::chrono::steady_clock::now() + kRound;
  std::this_thread::sleep_for(1s);
  fault.make({server_, proxy, all, random_});
  std::this_thread::sleep_until(until);
  if (!crew.stop(kTimeout)) {
    std::cout << "BROKEN: threads do not come back after \"" << fault.name << "\"" << std::endl;
    std::_Exit(1);
  }
  record_.add(crew.tally());
  return fault.name;
}

// The library's callback threads end after some idle seconds. So the first figures are not the
// lowest.
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
  for (const auto& client : clients_) (void)client->flush(kTimeout);
  Sample sample;
  const bool answered = testing::eventually(
      [&] {
        const auto server = ServerFigures::of(server_);
        if (server) sample.server = *server;
        return server && is_at_rest(*server);
      },
      kTimeout, 250ms);
  static_cast<void>(answered);  // the figures show what is wrong
  sample.fault = after;
  sample.seconds = seconds();
  sample.cycles = record_.cycles();
  sample.process = ProcessFigures::now();
  sample.clients = clients_.size();
  Record::print(std::cout, sample);
  record_.add(std::move(sample));
}

}  // namespace zklock::soak
