// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>
#include <chrono>
#include <cstdint>
#include <list>
#include <thread>

namespace zklock::testing {

// Forwards the bytes of every connection to 127.0.0.1:port() to another port of this machine, and
// back. Each byte is sent `delay` after its arrival. After cut() the connections stay open but no
// bytes pass. mend() sends all bytes that arrived meanwhile.
class Forwarder {
 public:
  enum class Events {
    passed,
    // Drops the watch events of a ZooKeeper server. Only ZooKeeper clients may connect then.
    swallowed,
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
  std::list<std::jthread> threads_;  // added by the accepting thread; last used by the destructor
  std::jthread accepting_;
};

}  // namespace zklock::testing
