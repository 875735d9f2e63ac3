// SPDX-License-Identifier: Apache-2.0
#include "chaos/fault.h"

#include <utility>

namespace zklock::chaos {
namespace {

using std::chrono::milliseconds;

std::vector<Fault> from_to(Fault first, Fault last) {
  std::vector<Fault> faults;
  for (int i = static_cast<int>(first); i <= static_cast<int>(last); ++i) {
    faults.push_back(static_cast<Fault>(i));
  }
  return faults;
}

}  // namespace

std::string name_of(Fault fault) {
  switch (fault) {
    case Fault::paused_briefly: return "client_paused_briefly";
    case Fault::paused_long: return "client_paused_long";
    case Fault::killed: return "client_killed";
    case Fault::exited: return "client_exited";
    case Fault::client_closed: return "client_closed";
    case Fault::cut_off: return "client_cut_off";
    case Fault::cut_off_briefly: return "client_cut_off_briefly";
    case Fault::reset: return "connection_reset";
    case Fault::refused: return "connection_refused";
    case Fault::moved: return "session_moved";
    case Fault::link_delayed: return "link_delayed";
    case Fault::link_stuttering: return "link_stuttering";
    case Fault::replies_held: return "replies_held";
    case Fault::events_delayed: return "events_delayed";
    case Fault::create_answer_lost: return "create_answer_lost";
    case Fault::multi_answer_lost: return "multi_answer_lost";
    case Fault::remove_answer_lost: return "delete_answer_lost";
    case Fault::list_answer_lost: return "list_answer_lost";
    case Fault::get_answer_lost: return "get_answer_lost";
    case Fault::create_lost: return "create_lost";
    case Fault::multi_lost: return "multi_lost";
    case Fault::session_ended: return "session_ended";
    case Fault::follower_killed: return "follower_killed";
    case Fault::leader_killed: return "leader_killed";
    case Fault::all_killed: return "all_killed";
    case Fault::all_killed_long: return "all_killed_long";
    case Fault::follower_paused: return "follower_paused";
    case Fault::leader_paused: return "leader_paused";
    case Fault::leader_stopped: return "leader_stopped";
    case Fault::follower_isolated: return "follower_isolated";
    case Fault::leader_isolated: return "leader_isolated";
    case Fault::isolated_after_idle: return "isolated_after_idle";
    case Fault::node_deleted: return "node_deleted";
    case Fault::parent_deleted: return "parent_deleted";
    case Fault::strange_children: return "strange_children";
    case Fault::release_forged: return "release_forged";
    case Fault::foreign_contender: return "foreign_contender";
  }
  return "?";
}

FaultPlan::FaultPlan(std::vector<Fault> classes, milliseconds mean_pause, std::uint64_t seed)
    : classes_(std::move(classes)),
      done_(classes_.size()),
      mean_pause_(mean_pause),
      random_(seed) {}

unsigned FaultPlan::up_to(unsigned most) {
  return static_cast<unsigned>(random_() % (most + 1ULL));
}

PlannedFault FaultPlan::next() {
  if (done_ == classes_.size()) {
    // Not std::shuffle: its use of the generator differs between standard libraries.
    for (std::size_t i = classes_.size(); i > 1; --i) {
      std::swap(classes_[i - 1], classes_[up_to(static_cast<unsigned>(i - 1))]);
    }
    done_ = 0;
  }
  PlannedFault planned{};
  planned.fault = classes_[done_++];
  planned.choice = up_to(1'000'000);
  planned.length = milliseconds(up_to(1000));
  planned.pause = milliseconds(up_to(static_cast<unsigned>(2 * mean_pause_.count())));
  return planned;
}

std::vector<Fault> FaultPlan::of_clients() {
  return from_to(Fault::paused_briefly, Fault::session_ended);
}
std::vector<Fault> FaultPlan::of_servers() {
  return from_to(Fault::follower_killed, Fault::isolated_after_idle);
}
std::vector<Fault> FaultPlan::of_nodes() {
  return from_to(Fault::node_deleted, Fault::foreign_contender);
}

}  // namespace zklock::chaos
