// SPDX-License-Identifier: Apache-2.0
// Requests the release of a lock, or prints the value that a leader has proclaimed, for the tests
// of the command.
//
//   zklock_cli_request HOSTS PATH request|force|value
#include <chrono>
#include <exception>
#include <iostream>
#include <string_view>

#include "zklock/client.h"
#include "zklock/election_observer.h"
#include "zklock/release_request.h"

int main(int argc, char** argv) {
  if (argc != 4) return 2;
  try {
    zklock::Client client(argv[1]);
    if (std::string_view(argv[3]) == "value") {
      const zklock::ElectionObserver observer(client, argv[2]);
      std::cout << observer.state(std::chrono::seconds(20)).value.value_or("");
      return 0;
    }
    const bool force = std::string_view(argv[3]) == "force";
    return zklock::request_release(client, argv[2],
                                   {.force = force, .deadline = std::chrono::seconds(20)})
               ? 0
               : 1;
  } catch (const std::exception& error) {
    std::cerr << error.what() << '\n';
    return 3;
  }
}
