// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <exception>
#include <iostream>
#include <stdexcept>
#include <string>

#include <zklock/zklock.h>

namespace example {

// Prints the promise and whether it was kept. Throws if it was broken, which ends the example.
inline void promise(bool kept, const std::string& what) {
  std::cout << (kept ? "  kept:   " : "  BROKEN: ") << what << std::endl;
  if (!kept) throw std::runtime_error("broken promise: " + what);
}

// Throws if no server at `hosts` answers within 2 s.
inline void check_server(const std::string& hosts, const std::string& program) {
  zklock::Client client(hosts);
  if (client.wait_until_connected(std::chrono::seconds(2))) return;
  std::string text;
  for (const zklock::HealthProblem& problem : client.health().problems) text += problem.text + '\n';
  throw std::runtime_error(text + "With a temporary server: examples/with_server.sh " + program +
                           " {}");
}

// Runs an example on the servers in its first argument. Returns the exit status: 1 after a broken
// promise or another error, or if no server answers.
template <class F>
int run(int argc, char** argv, F example) {
  try {
    const std::string hosts = argc > 1 ? argv[1] : "127.0.0.1:2181";
    check_server(hosts, argv[0]);
    example(hosts);
    return 0;
  } catch (const std::exception& e) {
    std::cerr << argv[0] << ": " << e.what() << std::endl;
    return 1;
  }
}

}  // namespace example
