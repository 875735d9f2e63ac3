// SPDX-License-Identifier: Apache-2.0
#include <chrono>
#include <iostream>

#include <zklock/zklock.h>

int main(int argc, char** argv) {
  zklock::Client client(argc > 1 ? argv[1] : "127.0.0.1:2181");
  zklock::ReentrantMutex mutex(client, "/locks/nightly-report");
  zklock::Hold hold = mutex.acquire({.deadline = std::chrono::seconds(30)});
  if (!hold) return 1;  // the deadline passed before a grant
  std::cout << "granted, with token " << hold.token().zxid << '\n';
  // ... the work: send the token with every write ...
  return hold.is_valid() ? 0 : 1;
}  // the Hold is destroyed here, which releases the lock
