// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>
#include <chrono>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <map>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include "chaos/collector.h"
#include "chaos/crew.h"
#include "chaos/ensemble.h"
#include "chaos/fault.h"
#include "chaos/report.h"
#include "zklock/testing/servers/temp_dir.h"

namespace zklock::chaos {

struct RunPlan {
  std::chrono::seconds length{60};
  std::uint64_t seed = 1;
  std::size_t clients = 8;
  std::string only;  // only this class of faults; empty: all
  std::string client_program;
  std::filesystem::path keep_in;  // directory for the history of a violation
};

// A run: the servers, the clients, the threads that inject the faults, and the report.
class Conductor {
 public:
  explicit Conductor(RunPlan plan);
  // Runs once. Throws std::runtime_error if the servers do not start.
  Report run();

 private:
  using Deed = std::function<bool(const PlannedFault&)>;

  void start_servers();
  void torment();
  void tormentor(FaultPlan plan, const Deed& deed);
  bool do_one(const PlannedFault& planned, const Deed& deed);
  // Returns the client that a fault hits. The clients of a group belong to one thread.
  CrewMember& victim(unsigned group, unsigned choice);
  void expect_rest();
  std::string what_is_left();
  Report sum_up();
  void keep(Report& report, const History& history) const;

  const RunPlan plan_;
  const testing::TempDir directory_;
  Ensemble ensemble_;
  Collector collector_;
  Crew crew_;
  std::atomic<bool> over_{false};

  std::mutex mutex_;
  std::map<std::string, std::uint64_t> faults_;  // guarded by mutex_
  std::uint64_t without_effect_ = 0;             // guarded by mutex_
};

}  // namespace zklock::chaos
