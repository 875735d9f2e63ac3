// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>
#include <chrono>
#include <cstdint>
#include <list>
#include <thread>

namespace zklock::testing {

// Passes on the bytes of every connection to 127.0.0.1:port() to another port of this machine, and
// back, each `delay` after it arrived. After cut() the connections stay open, and nothing comes
// through any more. mend() lets everything through that has come meanwhile.
class Forwarder {
 public:
  enum class Events {
    passed,
    swallowed,  // a ZooKeeper server's, of its watches; nothing but its clients may connect then
  };
  // Throws std::system_error.
  explicit Forwarder(std::uint16_t target, Events events = Events::passed,
                     std::chrono::milliseconds delay = {});
  ~Forwarder();
  Forwarder(const Forwarder&) = delete;
  Forwarder& operator=(const Forwarder&) = delete;

  std::uint16_t port() const noexcept { return port_; }
  void cut() noexcept { cut_ = true; }
  void mend() noexcept { cut_ = false; }

 private:
  void accept_all();
  void pass(int from, int to, Events events);

  const std::uint16_t target_;
  const Events events_;
  const std::chrono::milliseconds delay_;
  int listener_ = -1;
  std::uint16_t port_ = 0;
  std::atomic<bool> cut_{false};
  std::atomic<bool> ended_{false};
  std::list<std::jthread> threads_;  // of the accepting thread, then of the destructor
  std::jthread accepting_;
};

}  // namespace zklock::testing
