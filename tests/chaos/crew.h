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

#include "chaos/collector.h"
#include "chaos/ensemble.h"
#include "zklock/testing/fault_proxy.h"
#include "zklock/testing/servers/child_process.h"

namespace zklock::chaos {

// The settings that all clients share.
struct CrewPlan {
  std::string program;
  std::filesystem::path directory;  // for their logs
  std::uint64_t seed = 0;
  std::size_t size = 8;
};

// One client: a process that locks until it is ended, and the proxy between it and the servers.
// Starts the process again after its end. For one thread at a time.
class CrewMember {
 public:
  CrewMember(const CrewPlan& plan, unsigned number, Ensemble& ensemble, Collector& collector);

  // Starts the process and returns when it has reported to the collector. Adds a claim if it does
  // not.
  void start();
  // Kills the process if it still runs, and starts its next life.
  void start_again();

  unsigned number() const noexcept { return number_; }
  std::chrono::milliseconds session_timeout() const noexcept { return session_timeout_; }
  testing::FaultProxy& proxy() { return proxy_; }
  testing::ChildProcess& process() { return *process_; }

  // Sends SIGUSR1 or SIGUSR2: see client.cpp.
  void signal(int number);
  // Waits for the end of the process. Returns false, and adds a claim, if the process does not end
  // or has another exit code.
  bool ends_with(int exit_code);
  // Returns whether the process runs. Adds a claim if it has ended by itself.
  bool lives();

 private:
  const CrewPlan plan_;
  const unsigned number_;
  const std::chrono::milliseconds session_timeout_;
  Collector& collector_;
  testing::FaultProxy proxy_;
  unsigned life_ = 0;
  std::unique_ptr<testing::ChildProcess> process_;
};

// All clients of a run.
class Crew {
 public:
  Crew(const CrewPlan& plan, Ensemble& ensemble, Collector& collector);
  void start();
  // Makes all clients end in good order, and waits for that.
  void end();
  std::size_t size() const noexcept { return members_.size(); }
  CrewMember& operator[](std::size_t index) { return *members_.at(index); }

 private:
  std::vector<std::unique_ptr<CrewMember>> members_;
};

}  // namespace zklock::chaos
