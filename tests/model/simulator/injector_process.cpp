// SPDX-License-Identifier: Apache-2.0
// The faults of a process: pauses, its end, and threads that cannot be created.
#include <algorithm>
#include <chrono>

#include "tests/model/simulator/injector.h"

namespace zklock::simulator {

using model::OnTheWay;
using std::chrono::microseconds;
using std::chrono::milliseconds;

namespace {

/// The time that a process gets to recover.
constexpr Duration kRecovery = milliseconds(120);

}  // namespace

void Injector::pause(SimProcess& process, Duration length) {
  if (process.paused()) return;
  process.pause();
  process.excused_until = Instant::max();
  later(length, [this, &process] { resume(process); });
}

void Injector::resume(SimProcess& process) {
  if (!process.paused() || process.dead()) return;
  process.resume();
  process.excused_until = std::max(universe_.now(), process.handlers_blocked_until) + kRecovery;
  users_.query_all(process);
}

void Injector::to_process(const PlanStep& step) {
  SimProcess& process = users_.process(step.slot);
  const Duration length = microseconds(step.length);
  switch (step.fault) {
    case Fault::killed: return kill(step.slot, Manner::at_once);
    case Fault::image_replaced: return kill(step.slot, Manner::silently);
    case Fault::client_closed: return kill(step.slot, Manner::kindly);
    case Fault::closed_disconnected: return kill(step.slot, Manner::kindly_disconnected);
    case Fault::object_destroyed: return users_.remake(step.slot, step.salt);
    case Fault::cancel_at_message: return users_.cancel_at_message(process);
    case Fault::handler_throws: return users_.throw_at_next_grant(process);
    case Fault::closed_by_handler: return users_.close_at_next_grant(process);
    case Fault::forked: return users_.fork_process();
    case Fault::thread_exits: return users_.end_a_thread(process);
    case Fault::listener_throws: process.listeners_throw_until = universe_.now() + length; return;
    case Fault::handlers_blocked:
      process.handlers_blocked_until = universe_.now() + length;
      process.excused_until = std::max(process.excused_until, universe_.now() + length + kRecovery);
      return;
    default: return;
  }
}

void Injector::kill(int slot, Manner manner) {
  SimProcess& process = users_.process(slot);
  if (process.paused()) return;
  switch (manner) {
    case Manner::at_once:
    case Manner::silently:
      users_.bury(process);
      process.kill(manner == Manner::at_once);
      break;
    case Manner::kindly_disconnected:
      for (auto& line : process.lines()) line->coordinator.disconnect(OnTheWay::linger);
      [[fallthrough]];
    case Manner::kindly:
      process.excused_until = Instant::max();
      process.close();
      break;
  }
  users_.replace(slot);
}

}  // namespace zklock::simulator
