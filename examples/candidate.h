// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <condition_variable>
#include <exception>
#include <functional>
#include <iostream>
#include <mutex>
#include <string>
#include <utility>

#include <signal.h>
#include <sys/prctl.h>
#include <unistd.h>
#include <zklock/zklock.h>

namespace example {

// Runs a candidate until the process is killed: calls `leads` when it leads, and then keeps the
// leadership until it ends. Returns the exit status 1 after an error.
inline int stand_for_election(zklock::ClientOptions options, const std::string& path,
                              std::function<void(const zklock::Leadership&)> leads) {
  ::prctl(PR_SET_PDEATHSIG, SIGKILL);  // do not outlive the example
  try {
    zklock::Client client(std::move(options));
    zklock::LeaderElection election(client, path, [&](const zklock::Leadership& leadership) {
      leads(leadership);
      std::mutex mutex;
      std::condition_variable_any changed;
      std::unique_lock lock(mutex);
      changed.wait(lock, leadership.end_token(), [] { return false; });
    });
    election.start();
    for (;;) ::pause();  // until it is killed
  } catch (const std::exception& e) {
    std::cerr << "candidate: " << e.what() << std::endl;
    return 1;
  }
}

}  // namespace example
