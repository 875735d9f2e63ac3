// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <csignal>
#include <thread>
#include <utility>

#include <pthread.h>
#include <sched.h>

namespace zklock::client {

/// A thread of the library's own. It takes no signals away from the program: all are blocked in
/// it, except those that a thread's own instructions raise, so that crash reporters still work.
/// `name`: at most 15 characters, static.
///
/// Throws: std::system_error when the system has no thread left.
template <class Body>
std::thread start_thread(const char* name, Body body) {
  sigset_t blocked;
  sigset_t before;
  ::sigfillset(&blocked);
  for (const int s : {SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGTRAP, SIGSYS, SIGABRT}) {
    ::sigdelset(&blocked, s);
  }
  // Blocked before the thread exists, or a signal could find it in its first instructions.
  ::pthread_sigmask(SIG_BLOCK, &blocked, &before);
  struct Restore {
    const sigset_t& mask;
    ~Restore() { ::pthread_sigmask(SIG_SETMASK, &mask, nullptr); }
  } const restore{before};
  return std::thread([name, body = std::move(body)]() mutable {
    ::pthread_setname_np(::pthread_self(), name);
    body();
  });
}

/// The calling thread, and those that are started by it, do not take the processor from whoever wakes
/// them: that is mostly about to sleep, and has locks that they need. Unless the program has given
/// its threads another policy than the usual one.
inline void preempt_nobody() noexcept {
  int policy = 0;
  sched_param parameters{};
  if (::pthread_getschedparam(::pthread_self(), &policy, &parameters) != 0) return;
  if (policy == SCHED_OTHER) ::pthread_setschedparam(::pthread_self(), SCHED_BATCH, &parameters);
}

}  // namespace zklock::client
