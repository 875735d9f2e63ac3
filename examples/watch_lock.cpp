// SPDX-License-Identifier: Apache-2.0
// The promise: a lock can be watched without contending for it. An operator's program shows the
// holder and the number of waiters. It is notified of every hand-off and delays no contender.

#include <chrono>
#include <condition_variable>
#include <functional>
#include <iostream>
#include <mutex>
#include <optional>
#include <string>

#include <zklock/zklock.h>

#include "promise.h"

namespace {

using namespace std::chrono_literals;
using example::promise;
using zklock::LockState;

// Prints the line that such a program would show: "held by db7 pid 812 (worker); 1 waits".
class Display {
 public:
  void show(const LockState& state) {
    const std::lock_guard guard(mutex_);
    shown_ = state;
    std::cout << "  (" << to_string(state) << ")" << std::endl;
    changed_.notify_all();
  }
  bool comes_to(const std::function<bool(const LockState&)>& wanted) {
    std::unique_lock lock(mutex_);
    return changed_.wait_for(lock, 30s, [&] { return shown_ && wanted(*shown_); });
  }

 private:
  std::mutex mutex_;
  std::condition_variable changed_;
  std::optional<LockState> shown_;  // guarded by mutex_
};

void watch_lock(const std::string& hosts) {
  // Each run has a path of its own, because the servers may have old data.
  const std::string path =
      "/locks/watched-" +
      std::to_string(std::chrono::system_clock::now().time_since_epoch().count());
  zklock::ClientOptions options;
  options.hosts = hosts;
  options.application = "worker";
  zklock::Client workers(options);
  zklock::ReentrantMutex mutex(workers, path);

  zklock::Client operators(hosts);
  zklock::LockObserver observer(operators, path);
  Display display;
  const zklock::Subscription subscription =
      observer.add_listener([&display](const LockState& state) { display.show(state); });
  promise(display.comes_to([](const LockState& s) { return s.is_free(); }),
          "a lock that was never acquired is free");

  zklock::Hold hold = mutex.acquire({.deadline = 30s});
  promise(display.comes_to([&](const LockState& s) {
    return s.holders.size() == 1 && s.holders[0].token == hold.token() && s.waiting == 0;
  }),
          "the holder is shown, with its token");
  auto next = mutex.async_acquire();
  promise(display.comes_to([](const LockState& s) { return s.waiting == 1; }),
          "waiting contenders are counted, without the observer");
  promise(observer.state().waiting == 1, "a query returns the same");

  hold.release();
  hold = next.get();
  promise(display.comes_to([&](const LockState& s) {
    return s.holders.size() == 1 && s.holders[0].token == hold.token() && s.waiting == 0;
  }),
          "the hand-off is shown");
  hold.release();
  promise(display.comes_to([](const LockState& s) { return s.is_free(); }), "it is free again");
}

}  // namespace

int main(int argc, char** argv) {
  return example::run(argc, argv, watch_lock);
}
