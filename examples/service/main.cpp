// SPDX-License-Identifier: Apache-2.0
// One instance of the billing service. Start several on different hosts: one leads.
//
//   billing_service HOSTS [ADDRESS [PORT]]
//
// A real service would call Service::post() for the requests of its users. This one only leads, and
// serves /livez, /readyz and /metrics on ADDRESS (127.0.0.1) and PORT (any free one). Ends in good
// order at SIGTERM and SIGINT, with the exit code 0.
#include <chrono>
#include <csignal>
#include <cstdint>
#include <exception>
#include <iostream>
#include <string>

#include <signal.h>
#include <zklock/zklock.h>

#include "ledger.h"
#include "probe_server.h"
#include "service.h"

namespace {

void serve(const std::string& hosts, const std::string& address, std::uint16_t port,
           const sigset_t& end) {
  zklock::ClientOptions options;
  options.hosts = hosts;
  options.application = "billing";
  zklock::Client client(options);
  billing::MemoryLedger ledger;  // of this process only; a real one is a database
  billing::Service service(client, ledger);
  const billing::ProbeServer probes(
      address, port, [&service](std::string_view path) { return service.reply_to(path); });
  service.start();
  std::cout << "probes: " << address << ':' << probes.port() << std::endl;

  int signal = 0;
  ::sigwait(&end, &signal);
  std::cout << "ending" << std::endl;
  if (!service.stop()) std::cout << "the session must expire before another leads" << std::endl;
}

}  // namespace

int main(int argc, char** argv) {
  if (argc < 2 || argc > 4) {
    std::cerr << "usage: " << argv[0] << " HOSTS [ADDRESS [PORT]]" << std::endl;
    return 2;
  }
  // Blocked in every thread: only sigwait() receives them.
  sigset_t end;
  ::sigemptyset(&end);
  ::sigaddset(&end, SIGTERM);
  ::sigaddset(&end, SIGINT);
  ::pthread_sigmask(SIG_BLOCK, &end, nullptr);
  try {
    const int port = argc > 3 ? std::stoi(argv[3]) : 0;
    serve(argv[1], argc > 2 ? argv[2] : "127.0.0.1", static_cast<std::uint16_t>(port), end);
    return 0;
  } catch (const std::exception& error) {
    std::cerr << argv[0] << ": " << error.what() << std::endl;
    return 1;
  }
}
