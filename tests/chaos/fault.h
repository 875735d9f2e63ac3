// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <chrono>
#include <cstdint>
#include <random>
#include <string>
#include <vector>

namespace zklock::chaos {

// What is done to the run. The comment says what it stands for, where its name does not.
enum class Fault {
  // to one client: its process
  paused_briefly,  // SIGSTOP, shorter than the lease
  paused_long,     // longer than the session: a virtual machine that was moved
  killed,          // SIGKILL, and started again
  exited,          // _exit() while its threads hold and wait
  client_closed,   // Client::close() while its threads hold and wait
  // its connection
  cut_off,          // silence, longer than the session
  cut_off_briefly,  // silence, shorter than the lease
  reset,            // RST
  refused,          // no server lets it in
  moved,            // its server lets it in no more: the session goes to another
  link_delayed,
  link_stuttering,  // frames in small pieces
  replies_held,     // requests are done, and the answers late
  events_delayed,
  create_answer_lost,  // and the connection with it
  multi_answer_lost,
  remove_answer_lost,
  list_answer_lost,
  get_answer_lost,
  create_lost,  // before it reached the server
  multi_lost,
  // its session
  session_ended,  // from outside, as by whoever knows its number
  // to the servers
  follower_killed,
  leader_killed,
  all_killed,  // and started again at once
  all_gone,    // for longer than any session
  follower_paused,
  leader_paused,
  leader_stopped,       // SIGSTOP for 0.7 to 0.9 of the shortest session timeout
  follower_isolated,    // from its leader, with clients on it
  leader_isolated,      // from its followers, with clients on it
  isolated_after_idle,  // the server of a client that was idle, right after the client's next grant
  // to the nodes
  node_deleted,       // the holder's, by an operator
  parent_deleted,     // with all below it
  strange_children,   // names of no contender
  release_forged,     // "released" written into another's node: to be refused
  foreign_contender,  // one that is not of zklock, and is written by anybody while it holds
};
inline constexpr std::size_t kFaults = static_cast<std::size_t>(Fault::foreign_contender) + 1;

std::string name_of(Fault fault);

// One fault of a plan. What it hits, and for how long where that is open, comes from the plan too;
// when it happens is the machine's affair.
struct PlannedFault {
  Fault fault;
  unsigned choice;                   // of the client, server or lock, as far as there is one
  std::chrono::milliseconds length;  // for the faults that last
  std::chrono::milliseconds pause;   // before it
};

// The faults that one thread does, one after the other. The same seed gives the same ones, in the
// same order. Each class comes once before one comes again.
//
// Thread-safety: a distinct object from any thread.
class FaultPlan {
 public:
  FaultPlan(std::vector<Fault> classes, std::chrono::milliseconds mean_pause, std::uint64_t seed);
  // Returns the next fault. REQUIRES: !empty().
  PlannedFault next();
  bool empty() const noexcept { return classes_.empty(); }

  static std::vector<Fault> of_clients();
  static std::vector<Fault> of_servers();
  static std::vector<Fault> of_nodes();

 private:
  unsigned up_to(unsigned most);

  std::vector<Fault> classes_;
  std::size_t done_ = 0;
  const std::chrono::milliseconds mean_pause_;
  std::mt19937_64 random_;
};

}  // namespace zklock::chaos
