// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <stop_token>
#include <string>

#include "chaos/collector_link.h"
#include "chaos/workload.h"
#include "zklock/zklock.h"

namespace zklock::chaos {

// A grant with the queries of its holder: a Hold or a Leadership.
struct Standing {
  std::size_t lock = 0;
  int weight = 1;
  Nanos call = 0;  // begin of the call
  FencingToken token;
  Owner owner;
  std::function<HoldState()> state;
  std::stop_token lost;
  bool reading = false;
  bool fenced = true;  // whether it has a resource to visit
  // Returns whether a listener was called for the loss. Empty: no listener.
  std::function<bool()> loss_received = {};
};

// The actions of one thread while it holds. It visits the resource, waits, checks whether it still
// holds, and reports. It acts first and checks later, like a program that was paused in between.
// After a loss it visits the resource again with the old token, which must be refused.
//
// Thread-safety: for one thread.
class HoldExerciser {
 public:
  HoldExerciser(const Client& client, const std::string& socket_path, unsigned number,
                unsigned life, unsigned thread);

  // Holds for `length`, or until the loss. Returns whether the hold was valid to the end. Does not
  // release it.
  bool exercise(const Standing& standing, std::chrono::microseconds length);
  // Does the late visits with old tokens that are due.
  void come_late();
  void send_line(const std::string& line) { link_.send_line(line); }

 private:
  struct LateVisit {
    Nanos due;
    std::string line;
  };
  void wait(std::chrono::microseconds length);
  void look();
  void visit();
  void report_grant(bool is_long);
  std::string visit_line(bool late) const;

  const Client& client_;
  CollectorLink link_;
  const unsigned number_;
  const unsigned life_;
  const unsigned thread_;
  std::uint64_t grants_ = 0;
  std::deque<LateVisit> late_;

  // of the current grant
  const Standing* standing_ = nullptr;
  GrantId id_ = 0;
  bool valid_ = false;
  Nanos first_ = 0;
  Nanos last_ = 0;
  Nanos refused_ = 0;
  std::int64_t session_ = 0;
};

}  // namespace zklock::chaos
