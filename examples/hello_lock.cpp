// SPDX-License-Identifier: Apache-2.0
#include <chrono>
#include <iostream>

#include <zklock/zklock.h>

int main(int argc, char** argv) try {
  using namespace std::chrono_literals;
  zklock::Client client({.hosts = argc > 1 ? argv[1] : "127.0.0.1:2181", .connection_timeout = 2s});
  zklock::ReentrantMutex mutex(client, "/locks/nightly-report");
  zklock::Hold hold = mutex.acquire();  // blocks until all earlier contenders have released
  std::cout << "granted, with token " << hold.token().zxid << '\n';
  // ... the work: send the token with every write ...
  return hold.is_valid() ? 0 : 1;  // the Hold is destroyed here, which releases the lock
} catch (const zklock::Error& error) {
  std::cerr << error.what()
            << "\nWith a temporary server, in the checkout of zklock: examples/with_server.sh "
            << argv[0] << " {}\n";
  return 1;
}
