// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <memory>
#include <string>
#include <vector>

#include "chaos/desk.h"
#include "chaos/ensemble.h"
#include "chaos/proxy.h"
#include "support/child_process.h"

namespace zklock::chaos {

// What the clients have in common.
struct CrewPlan {
  std::string program;
  std::filesystem::path directory;  // for their logs
  std::uint64_t seed = 0;
  std::size_t size = 8;
};

// One client: a process that locks as long as it lives, the proxy between it and the servers, and how
// it is started again. The controls are for one thread at a time.
class CrewMember {
 public:
  CrewMember(const CrewPlan& plan, unsigned number, Ensemble& ensemble, Desk& desk);

  // Returns when the process has reported; a claim when it does not.
  void start();
  // After it has ended, or is made to end: the next life.
  void start_again();

  unsigned number() const noexcept { return number_; }
  std::chrono::milliseconds session_timeout() const noexcept { return session_timeout_; }
  Proxy& proxy() { return proxy_; }
  testing::ChildProcess& process() { return *process_; }

  // Asks all threads to leave it by _exit(); or to close the Client under them.
  void signal(int number);
  // Waits for the end; false, and a claim, when it does not come, or is not as it should be.
  bool ends_with(int exit_code);
  // A claim when it has ended by itself.
  bool lives();

 private:
  const CrewPlan plan_;
  const unsigned number_;
  const std::chrono::milliseconds session_timeout_;
  Desk& desk_;
  Proxy proxy_;
  unsigned life_ = 0;
  std::unique_ptr<testing::ChildProcess> process_;
};

// All clients.
class Crew {
 public:
  Crew(const CrewPlan& plan, Ensemble& ensemble, Desk& desk);
  void start();
  // Asks them to end, and waits for that.
  void end();
  std::size_t size() const noexcept { return members_.size(); }
  CrewMember& operator[](std::size_t index) { return *members_.at(index); }

 private:
  std::vector<std::unique_ptr<CrewMember>> members_;
};

}  // namespace zklock::chaos
