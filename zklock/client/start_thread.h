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

/// How the system shares the processors out to a thread; it inherits that from whoever starts it.
///
/// Thread-safety: a value.
struct Scheduling {
  int policy = SCHED_OTHER;
  sched_param parameters{};

  static Scheduling of_this_thread() noexcept {
    Scheduling scheduling;
    ::pthread_getschedparam(::pthread_self(), &scheduling.policy, &scheduling.parameters);
    return scheduling;
  }
  /// Of the calling thread, from now on, where the system allows it.
  void take_on() const noexcept { ::pthread_setschedparam(::pthread_self(), policy, &parameters); }
};

/// The calling thread, and those that it starts, do not take the processor from whoever wakes them. On
/// a busy machine they then wait until that is through with its time, which takes milliseconds: it is
/// for what nobody waits for. Unless the program has given its threads another policy than the usual.
inline void preempt_nobody() noexcept {
  Scheduling own = Scheduling::of_this_thread();
  if (own.policy != SCHED_OTHER) return;
  own.policy = SCHED_BATCH;
  own.take_on();
}

}  // namespace zklock::client
