// SPDX-License-Identifier: Apache-2.0
// Locks and unlocks, in each of the two ways, and catches an error of the library.

#include <chrono>
#include <exception>
#include <iostream>

#include <zklock/zklock.h>

int main(int argc, char** argv) {
  try {
    zklock::Client client(argc > 1 ? argv[1] : "127.0.0.1:2181");
    try {
      const zklock::Mutex refused(client, "not a path");
      return 5;
    } catch (const zklock::Error& e) {
      if (e.errc() != zklock::Errc::invalid_path) return 6;
    }
    zklock::ReentrantMutex mutex(client, "/consumer");
    if (!mutex.try_lock_for(std::chrono::seconds(20)) || mutex.hold_count() != 1) return 2;
    mutex.unlock();
    if (mutex.hold_count() != 0) return 3;
    const zklock::Hold hold = mutex.acquire({.deadline = std::chrono::seconds(20)});
    if (!hold || hold.token() <= zklock::FencingToken{}) return 4;
    std::cout << "locked and unlocked; token " << hold.token().zxid << '\n';
    return 0;
  } catch (const std::exception& e) {
    std::cerr << e.what() << '\n';
    return 1;
  }
}
