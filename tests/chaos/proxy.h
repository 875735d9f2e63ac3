// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <list>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "chaos/carried.h"
#include "support/free_ports.h"

namespace zklock::chaos {

// The way of one client to the servers: a port of its own for each of them, on loopback. Whatever
// happens to a network happens here.
//
// Thread-safety: all members may be called by any thread; they take effect within milliseconds.
class Proxy {
 public:
  // Throws std::runtime_error.
  explicit Proxy(std::vector<std::uint16_t> servers);
  ~Proxy();
  Proxy(const Proxy&) = delete;
  Proxy& operator=(const Proxy&) = delete;

  // For the client, with the chroot.
  std::string hosts() const;

  void set(const Weather& weather);
  void calm() { set({}); }

  void arm(const Trap& trap);
  // False when the trap that was armed last was not sprung.
  bool disarm();
  bool sprung() const;

  // Ends every connection, hard.
  void reset_connections();
  // Connections to the server, or to all, are reset, and refused until they are let in again.
  void refuse(std::size_t server);
  void refuse_all();
  void accept_all();
  // The server to which the client is connected.
  std::optional<std::size_t> connected_to() const;

 private:
  struct Door {
    std::uint16_t server;
    int listener = -1;
    bool refused = false;  // guarded by mutex_; whether it is to be
  };

  void wake() const;
  void run();
  void wait(const Weather& weather);
  void tend_doors();
  void let_in(std::size_t door);
  void carry();

  std::vector<Door> doors_;
  const testing::FreePorts ports_;
  int wake_fd_ = -1;

  mutable std::mutex mutex_;  // for all that follows, and refused
  bool ended_ = false;
  Weather weather_;
  std::optional<Trap> trap_;
  bool sprung_ = false;
  bool reset_wanted_ = false;
  std::list<std::unique_ptr<Carried>> carried_;  // made and ended by the thread alone

  std::thread thread_;
};

}  // namespace zklock::chaos
