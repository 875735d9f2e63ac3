// SPDX-License-Identifier: Apache-2.0
// The programs: leaderships, and what leaders proclaim.
#include <algorithm>
#include <chrono>
#include <exception>
#include <limits>

#include "tests/model/simulator/leader.h"
#include "tests/model/simulator/users.h"
#include "zklock/engine/queue_view.h"
#include "zklock/error.h"
#include "zklock/guarded_transaction.h"

namespace zklock::simulator {

Call& Users::begin_leadership(SimProcess& process, const ObjectPlan& object) {
  Call& call = new_call(process, object, {});
  call.ended = true;
  return call;
}

void Users::leads(Call& call, const Leadership& leadership) {
  if (leadership.state() == HoldState::lost) return;
  call.leadership = leadership;
  call.token = leadership.token();
  call.parts.clear();
  call.parts.push_back(
      {.hold = call.id, .resource = resource_of(0, call.object.path), .path = call.object.path});
  granted(call);
  proclaim(call, call.object.proclaims);
}

// Is called for an ended leadership, too. It then has no effect.
void Users::proclaim(Call& call, int left) {
  if (left == 0 || call.process->closed()) return;
  const std::uint32_t number = begin_commit(call, call.leadership.node());
  const auto ended = [this, &call, number](const std::exception_ptr& error) {
    committed(number, error);
    if (!error && number == call.said) call.said_at = universe_.now();
  };
  call.said = number;
  call.said_at.reset();
  try {
    call.leadership.async_proclaim(std::to_string(number), ended);
  } catch (const std::exception&) {  // nothing was sent
    commits_.erase(number);
  }
  after(*call.process, std::int64_t{plan_.setup.session_ms} * 1000 / 16,
        [this, &call, left] { proclaim(call, left - 1); });
}

void Users::look_at_what_is_said() {
  for (const Call* const call : live_) {
    const bool waits = std::ranges::any_of(
        commits_, [&](const auto& commit) { return commit.second == call->process; });
    const bool is_long_known =
        call->said_at && *call->said_at + std::chrono::seconds(2) < universe_.now();
    if (waits || !is_long_known) continue;
    if (call->leadership.state() != HoldState::held || !is_visibly_first(call->leadership))
      continue;
    for (const Program& program : programs_) {
      const SimProcess& process = *program.process;
      if (!process.runs() || process.closed() || process.refused()) continue;
      for (const auto& observer : program.observers) {
        if (!observer || !observer->is_of_election()) continue;
        if (observer->sees(call->token, call->said)) continue;
        history_writer_.note(
            {.kind = Event::Kind::left, .text = "an observer's view of what was said"});
      }
    }
  }
}

// Returns what the list of children shows. At the end of the sequence counter, a create does not
// change the parent's pzxid. So the servers do not report it to an observer that reconnects.
bool Users::is_visibly_first(const Leadership& leadership) {
  const std::string node = leadership.node();
  const auto slash = node.rfind('/');
  const model::Node* const parent = universe_.ensemble(0).find(node.substr(0, slash));
  if (parent == nullptr || parent->counter == std::numeric_limits<std::int32_t>::max())
    return false;
  client::Reply list;
  list.children = parent->children;
  const auto queue = detail::Queue::of(list);
  return !queue.lock_delay && !queue.contenders.empty() &&
         queue.contenders.front().text == node.substr(slash + 1);
}

void Users::resigns(const Call& call) {
  if (call.over || call.leadership.state() == HoldState::lost) return;
  history_writer_.note({.kind = Event::Kind::resigned, .hold = call.id});
}

void Users::end_leadership(Call& call) {
  if (call.over) return;
  resigns(call);
  for (Call::Part& part : call.parts) query(call, part, false);
  forget(call);
}

}  // namespace zklock::simulator
