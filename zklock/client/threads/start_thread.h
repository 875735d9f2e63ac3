// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <csignal>
#include <cstddef>
#include <string>
#include <thread>
#include <utility>

#include <pthread.h>
#include <sched.h>

namespace zklock::client {

/// Starts a thread of the library that runs `body`. The thread blocks all signals except those that
/// its own instructions raise. So the program's threads handle the signals sent to the process, and
/// crash reporters still see the faults of this thread. `name`: a static string of at most 15
/// characters. Throws std::system_error if the system provides no thread.
template <class Body>
std::thread start_thread(const char* name, Body body) {
  sigset_t blocked;
  sigset_t before;
  ::sigfillset(&blocked);
  for (const int s : {SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGTRAP, SIGSYS, SIGABRT}) {
    ::sigdelset(&blocked, s);
  }
  // Blocked before the thread starts: otherwise its first instructions could receive a signal.
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

/// Gives the calling thread another name while the object exists. Threads that it starts meanwhile
/// begin with that name. `name`: at most 15 characters.
///
/// Thread-safety: none; used by one thread.
class ThreadName {
 public:
  explicit ThreadName(const char* name) noexcept {
    ::pthread_getname_np(::pthread_self(), before_.data(), before_.size());
    ::pthread_setname_np(::pthread_self(), name);
  }
  ~ThreadName() { ::pthread_setname_np(::pthread_self(), before_.data()); }
  ThreadName(const ThreadName&) = delete;
  ThreadName& operator=(const ThreadName&) = delete;

 private:
  std::array<char, 16> before_{};
};

/// The scheduling policy and priority of a thread. A thread inherits those of the thread that
/// starts it.
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
  /// Gives the calling thread this policy and priority, if the system permits it.
  void take_on() const noexcept { ::pthread_setschedparam(::pthread_self(), policy, &parameters); }
};

/// Sets SCHED_BATCH for the calling thread and the threads that it starts later. They then do not
/// preempt the thread that wakes them. On a busy machine they run only when the time slice of that
/// thread ends, which takes milliseconds. So this is for work without a waiting caller. No effect
/// if the thread has another policy than SCHED_OTHER.
inline void use_batch_scheduling() noexcept {
  Scheduling own = Scheduling::of_this_thread();
  if (own.policy != SCHED_OTHER) return;
  own.policy = SCHED_BATCH;
  own.take_on();
}

/// Returns whether the system provides `count` more threads now. Starts them, ends them, and blocks
/// until the system counts them no more, so that the caller can have them. Another thread of the
/// system can be faster.
///
/// Thread-safety: any thread may call it.
bool can_start_threads(std::size_t count);

/// Returns the text for a thread that the system does not provide, with what to do.
std::string thread_shortage();

}  // namespace zklock::client
