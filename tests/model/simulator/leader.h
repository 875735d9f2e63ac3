// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>

#include "tests/model/simulator/plan.h"
#include "tests/model/simulator/process.h"
#include "zklock/leader_latch.h"

namespace zklock::simulator {

class Users;
struct Call;

/// A candidate for the leadership, in one process. It is a LeaderLatch with a listener, or the
/// candidate of a LeaderElection. A timer replaces the thread of the LeaderElection.
///
/// Thread-safety: none.
class Leader {
 public:
  Leader(Users& users, SimProcess& process, const ObjectPlan& plan);
  ~Leader();
  Leader(const Leader&) = delete;
  Leader& operator=(const Leader&) = delete;

  void lead(Duration each);
  /// Ends the candidate for good.
  void resign();

 private:
  class TestCandidate;
  void gained(const Leadership& leadership);

  Users& users_;
  SimProcess& process_;
  const ObjectPlan plan_;
  std::unique_ptr<LeaderLatch> latch_;
  Subscription subscription_;
  std::shared_ptr<TestCandidate> candidate_;
  Call* leading_ = nullptr;
};

}  // namespace zklock::simulator
