// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "support/child_process.h"
#include "support/temp_dir.h"

namespace zklock::testing {

// Another process (hold_child.cpp) with a client of its own, which holds a lock.
class HolderProcess {
 public:
  struct Answer {
    std::string state;
    std::int64_t token = 0;
  };

  // Starts to wait for the lock.
  HolderProcess(const std::string& hosts, const std::string& path,
                std::chrono::milliseconds session_timeout);
  ~HolderProcess();
  HolderProcess(const HolderProcess&) = delete;
  HolderProcess& operator=(const HolderProcess&) = delete;

  // Waits for the grant. Throws when none comes.
  Answer wait_until_held();

  // Sends a command without waiting for what it says: a paused process answers once it goes on.
  void send(const std::string& command);
  // The next answer. Throws when none comes.
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
