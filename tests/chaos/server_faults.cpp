// SPDX-License-Identifier: Apache-2.0
#include <chrono>
#include <optional>
#include <stdexcept>
#include <thread>

#include "chaos/faults.h"

namespace zklock::chaos {
namespace {

using namespace std::chrono_literals;
using std::chrono::milliseconds;
using Member = std::optional<std::size_t>;

constexpr std::chrono::seconds kPatience{90};

void wait_for(milliseconds length) {
  std::this_thread::sleep_for(length);
}

bool kill(Ensemble& ensemble, Member member, milliseconds length) {
  if (!member) return false;
  ensemble[*member].kill_hard();
  wait_for(length);
  ensemble[*member].start();
  return true;
}

bool kill_all(Ensemble& ensemble, milliseconds length) {
  for (std::size_t i = 0; i < Ensemble::kSize; ++i) ensemble[i].kill_hard();
  wait_for(length);
  ensemble.start();
  return true;
}

bool pause(Ensemble& ensemble, Member member, milliseconds length) {
  if (!member) return false;
  ensemble[*member].pause();
  wait_for(length);
  ensemble[*member].resume();
  return true;
}

bool isolate(Ensemble& ensemble, Member member, milliseconds length) {
  if (!member) return false;
  ensemble.cut_off(*member);
  wait_for(length);
  ensemble.mend();
  return true;
}

bool perform(const PlannedFault& planned, Ensemble& ensemble) {
  using enum Fault;
  const milliseconds length = planned.length;
  switch (planned.fault) {
    case follower_killed: return kill(ensemble, ensemble.follower(planned.choice), 500ms + length);
    case leader_killed: return kill(ensemble, ensemble.leader(), 500ms + 2 * length);
    case all_killed: return kill_all(ensemble, 0ms);
    case all_gone: return kill_all(ensemble, 6s + length);
    case follower_paused:
      return pause(ensemble, ensemble.follower(planned.choice), 1s + 6 * length);
    case leader_paused: return pause(ensemble, ensemble.leader(), 1s + 7 * length);
    case follower_isolated:
      return isolate(ensemble, ensemble.follower(planned.choice), 8s + length);
    case leader_isolated: return isolate(ensemble, ensemble.leader(), 9s + 2 * length);
    default: throw std::logic_error("not a fault of servers: " + name_of(planned.fault));
  }
}

// One that came to its end by itself is started again.
bool recover(Ensemble& ensemble) {
  const auto until = std::chrono::steady_clock::now() + kPatience;
  do {
    ensemble.start();
    if (ensemble.wait_until_serving(10s)) return true;
  } while (std::chrono::steady_clock::now() < until);
  return false;
}

}  // namespace

bool do_to_servers(const PlannedFault& planned, Ensemble& ensemble, Desk& desk) {
  const bool done = perform(planned, ensemble);
  if (!recover(ensemble))
    desk.claim("the servers do not come back after " + name_of(planned.fault));
  return done;
}

}  // namespace zklock::chaos
