// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "zklock/testing/servers/child_process.h"
#include "zklock/testing/servers/temp_dir.h"

namespace zklock::testing {

// A process (hold_child.cpp) with its own client, which holds a lock.
class HolderProcess {
 public:
  struct Answer {
    std::string state;
    std::int64_t token = 0;
  };

  // Starts the process, which begins to acquire the lock.
  HolderProcess(const std::string& hosts, const std::string& path,
                std::chrono::milliseconds session_timeout);
  ~HolderProcess();
  HolderProcess(const HolderProcess&) = delete;
  HolderProcess& operator=(const HolderProcess&) = delete;

  // Blocks until the grant. Throws if it does not arrive.
  Answer wait_until_held();

  // Sends a command and does not wait for the answer. A paused process answers after resume().
  void send(const std::string& command) const;
  // Blocks until the next answer. Throws if none arrives.
  std::string receive();
  Answer receive_state();
  Answer state() {
    send("state");
    return receive_state();
  }

  ChildProcess& process() { return *process_; }

 private:
  std::vector<std::string> lines() const;

  TempDir directory_;
  std::unique_ptr<ChildProcess> process_;
  int pipe_ = -1;
  std::size_t received_ = 0;
};

}  // namespace zklock::testing
