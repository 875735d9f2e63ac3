// SPDX-License-Identifier: Apache-2.0
// The promise: callbacks, futures and coroutines wait in the queue without occupying a thread. With
// explicit owners, the requests of a thread pool exclude each other even if one thread serves both.

#include <atomic>
#include <chrono>
#include <coroutine>
#include <exception>
#include <future>
#include <latch>
#include <stop_token>
#include <string>
#include <thread>
#include <utility>

#include <zklock/zklock.h>

#include "promise.h"

namespace {

using namespace std::chrono_literals;
using example::promise;
using zklock::AcquireOptions;
using zklock::FencingToken;
using zklock::Hold;
using zklock::Owner;
using zklock::ReentrantMutex;

void with_a_callback(ReentrantMutex& mutex) {
  std::promise<FencingToken> granted;
  mutex.async_acquire({.deadline = 30s}, [&](Hold hold, const std::exception_ptr& error) {
    if (error) return granted.set_exception(error);
    granted.set_value(hold.token());
  });  // the Hold is an argument: it is released when the callback returns
  promise(granted.get_future().get() > FencingToken{}, "a callback receives a Hold");
}

void with_a_future(ReentrantMutex& mutex) {
  std::future<Hold> first = mutex.async_acquire({.deadline = 30s});
  std::future<Hold> second = mutex.async_acquire({.deadline = 30s});
  // Each has an owner of its own, so the second waits for the first.
  Hold hold = first.get();
  promise(second.wait_for(200ms) == std::future_status::timeout, "a second future waits");
  const FencingToken token = hold.token();
  hold.release();
  promise(second.get().token() > token, "and has a higher token when it is ready");
}

// A thread of a pool serves many requests one after the other. By default the owner is the thread,
// so the second request would enter the lock of the first. So each request has an Owner.
void on_a_pooled_thread(ReentrantMutex& mutex) {
  const Owner alice = Owner::unique();
  const Owner bob = Owner::unique();

  Hold hold = mutex.acquire({.owner = alice, .deadline = 30s});
  promise(static_cast<bool>(hold), "a request is granted");
  {
    // Later, on the same thread, for another request:
    const Hold none = mutex.acquire({.owner = bob, .deadline = 100ms});
    promise(!none, "another request on the same thread is not granted");
    // And deeper in the code that serves the first one:
    const Hold nested = mutex.acquire({.owner = alice, .deadline = 30s});
    promise(nested.token() == hold.token(), "the same request nests, with the same token");
  }
  // The request continues on another thread. That thread may release the hold.
  std::jthread([h = std::move(hold)]() mutable { h.release(); }).join();
  const Hold next = mutex.acquire({.owner = bob, .deadline = 30s});
  promise(static_cast<bool>(next), "after a release on another thread, the next is granted");
}

// A minimal coroutine type: the coroutine starts at once, and no caller waits for its end.
struct Detached {
  struct promise_type {
    Detached get_return_object() noexcept { return {}; }
    std::suspend_never initial_suspend() noexcept { return {}; }
    std::suspend_never final_suspend() noexcept { return {}; }
    void return_void() noexcept {}
    void unhandled_exception() noexcept { std::terminate(); }
  };
};

struct Tally {
  std::atomic<int> inside{0};
  std::atomic<int> served{0};
  std::atomic<int> broken{0};
  std::latch done;
};

Detached serve_request(ReentrantMutex& mutex, Tally& tally) {
  // Named: g++ 12 destroys a braced list in the operand of co_await twice (see zklock/awaitable.h).
  AcquireOptions options;
  options.owner = Owner::unique();  // this request; each co_await may change the thread
  options.deadline = 30s;
  try {
    const Hold hold = co_await mutex.co_acquire(options);
    if (!hold || ++tally.inside != 1) ++tally.broken;
    {
      const Hold nested = co_await mutex.co_acquire(options);
      if (nested.token() != hold.token()) ++tally.broken;
    }
    --tally.inside;
    ++tally.served;
  } catch (const zklock::Error& e) {
    std::cerr << e.what() << std::endl;
    ++tally.broken;
  }
  tally.done.count_down();
}

// A deadline and a stop token need no options.
Detached wait_for(ReentrantMutex& mutex, std::stop_token stop, std::promise<bool>& granted) {
  const Hold hold = co_await mutex.co_acquire(30s, std::move(stop));
  granted.set_value(static_cast<bool>(hold));
}

void stop_a_coroutine(ReentrantMutex& mutex) {
  const Hold blocking = mutex.acquire();
  std::stop_source stop;
  std::promise<bool> granted;
  wait_for(mutex, stop.get_token(), granted);
  stop.request_stop();
  promise(!granted.get_future().get(), "a stop ends the wait of a coroutine");
}

void with_coroutines(ReentrantMutex& mutex) {
  constexpr int kRequests = 8;
  Tally tally{.done = std::latch(kRequests)};
  for (int i = 0; i < kRequests; ++i) serve_request(mutex, tally);
  tally.done.wait();
  promise(tally.served == kRequests, "every coroutine was granted");
  promise(tally.broken == 0, "one at a time, each nesting in its own lock");
}

}  // namespace

int main(int argc, char** argv) {
  return example::run(argc, argv, [](const std::string& hosts) {
    zklock::Client client(hosts);
    ReentrantMutex mutex(client, "/locks/async");
    with_a_callback(mutex);
    with_a_future(mutex);
    on_a_pooled_thread(mutex);
    with_coroutines(mutex);
    stop_a_coroutine(mutex);
  });
}
