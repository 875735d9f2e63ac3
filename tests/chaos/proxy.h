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
#include "zklock/testing/servers/free_ports.h"

namespace zklock::chaos {

// The connection of one client to the servers, with a loopback port for each server. All network
// faults are injected here.
//
// Thread-safety: all members may be called by any thread; they take effect within milliseconds.
class Proxy {
 public:
  // Throws std::runtime_error.
  explicit Proxy(std::vector<std::uint16_t> servers);
  ~Proxy();
  Proxy(const Proxy&) = delete;
  Proxy& operator=(const Proxy&) = delete;

  // Returns the addresses for the client, with the chroot.
  std::string hosts() const;

  void set(const Weather& weather);
  void calm() { set({}); }

  void arm(const Trap& trap);
  // Removes the trap. Returns whether it was sprung.
  bool disarm();
  bool sprung() const;

  // Ends every connection by a TCP reset.
  void reset_connections();
  // Resets connections to the server, or to all, and refuses new ones until accept_all().
  void refuse(std::size_t server);
  void refuse_all();
  void accept_all();
  // Returns the server to which the client is connected, if any.
  std::optional<std::size_t> connected_to() const;

 private:
  struct Door {
    std::uint16_t server;
    int listener = -1;
    bool refused = false;  // guarded by mutex_
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

  mutable std::mutex mutex_;  // guards the following members and `refused`
  bool ended_ = false;
  Weather weather_;
  std::optional<Trap> trap_;
  bool sprung_ = false;
  bool reset_wanted_ = false;
  std::list<std::unique_ptr<Carried>> carried_;  // only the thread adds and removes

  std::thread thread_;
};

}  // namespace zklock::chaos
