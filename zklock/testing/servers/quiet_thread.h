// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <csignal>
#include <thread>
#include <utility>

#include <pthread.h>

namespace zklock::testing {

/// Starts a thread that blocks all signals, so that the program's own threads receive them. `name`:
/// a static string of at most 15 characters. Throws std::system_error.
template <class Body>
std::thread start_quiet_thread(const char* name, Body body) {
  sigset_t all;
  sigset_t before;
  ::sigfillset(&all);
  ::pthread_sigmask(SIG_SETMASK, &all, &before);
  struct Restore {
    const sigset_t& mask;
    ~Restore() { ::pthread_sigmask(SIG_SETMASK, &mask, nullptr); }
  } const restore{before};
  return std::thread([name, body = std::move(body)]() mutable {
    ::pthread_setname_np(::pthread_self(), name);
    body();
  });
}

}  // namespace zklock::testing
