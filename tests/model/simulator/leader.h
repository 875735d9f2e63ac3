// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>

#include "tests/model/simulator/plan.h"
#include "tests/model/simulator/process.h"
#include "zklock/leader_latch.h"

namespace zklock::simulator {

class Users;
struct Call;

/// A candidate for leadership, in one process: a LeaderLatch with a listener, or what is behind a
/// LeaderElection, whose thread is a timer here.
///
/// Thread-safety: none.
class Leader {
 public:
  Leader(Users& users, SimProcess& process, const ObjectPlan& plan);
  ~Leader();
  Leader(const Leader&) = delete;
  Leader& operator=(const Leader&) = delete;

  void lead(Duration each);
  /// For good.
  void resign();

 private:
  class Candidate;
  void gained(const Leadership& leadership);

  Users& users_;
  SimProcess& process_;
  const ObjectPlan plan_;
  Duration each_{};
  std::unique_ptr<LeaderLatch> latch_;
  Subscription subscription_;
  std::shared_ptr<Candidate> candidate_;
  Call* leading_ = nullptr;
};

}  // namespace zklock::simulator
