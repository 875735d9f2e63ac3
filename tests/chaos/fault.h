// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <chrono>
#include <cstdint>
#include <random>
#include <string>
#include <vector>

namespace zklock::chaos {

// The classes of faults. A comment explains a name that is not obvious.
enum class Fault {
  // faults of one client: its process
  paused_briefly,  // SIGSTOP, shorter than the lease
  paused_long,     // longer than the session, as when a virtual machine migrates
  killed,          // SIGKILL, then started again
  exited,          // _exit() while its threads hold and wait
  client_closed,   // Client::close() while its threads hold and wait
  // its connection
  cut_off,          // no data pass for longer than the session
  cut_off_briefly,  // no data pass for less than the lease
  reset,            // a TCP reset
  refused,          // every server refuses the connection
  moved,            // its server refuses it, so another one takes the session
  link_delayed,
  link_stuttering,  // frames are sent in small pieces
  replies_held,     // requests are executed, the answers delayed
  events_delayed,
  create_answer_lost,  // the connection breaks too
  multi_answer_lost,
  remove_answer_lost,
  list_answer_lost,
  get_answer_lost,
  create_lost,  // before the server receives it
  multi_lost,
  // its session
  session_ended,  // by another client that knows the session id
  // faults of the servers
  follower_killed,
  leader_killed,
  all_killed,       // started again at once
  all_killed_long,  // for longer than any session
  follower_paused,
  leader_paused,
  leader_stopped,       // SIGSTOP for 0.7 to 0.9 of the shortest session timeout
  follower_isolated,    // from its leader, with clients connected
  leader_isolated,      // from its followers, with clients connected
  isolated_after_idle,  // the server of an idle client, after its next grant
  // faults of the znodes
  node_deleted,       // the holder's, by an operator
  parent_deleted,     // with all znodes below
  strange_children,   // children whose names are no contender's
  release_forged,     // another client writes "released"; must be refused
  foreign_contender,  // not of zklock; others write its znode while it holds
};
inline constexpr std::size_t kFaults = static_cast<std::size_t>(Fault::foreign_contender) + 1;

std::string name_of(Fault fault);

// One fault of a plan. The plan also decides the victim and the length. The machine decides when
// the fault takes place.
struct PlannedFault {
  Fault fault;
  unsigned choice;                   // selects the client, server or lock
  std::chrono::milliseconds length;  // of a fault that lasts
  std::chrono::milliseconds pause;   // before the fault
};

// The sequence of faults that one thread injects. Equal seeds give equal sequences. Each class
// comes once before a class is repeated.
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
