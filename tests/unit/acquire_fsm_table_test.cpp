// SPDX-License-Identifier: Apache-2.0
// All transitions that the acquire machine makes, compared with the page that lists them.
#include <algorithm>
#include <array>
#include <chrono>
#include <cstddef>
#include <deque>
#include <filesystem>
#include <fstream>
#include <map>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "acquire_inputs.h"
#include "state_table.h"

namespace zklock::core::acquire_test {
namespace {

using state_table::Transitions;

bool has_reply(const Explored& from, const Input& input) {
  return from.replies.find(input.name + ' ' + input.node + ' ') != std::string::npos;
}

/// Returns whether the input is one of several replies or events that the state awaits.
bool is_remembered(const Explored& from, const Input& input) {
  if (has_reply(from, input)) return false;
  if (from.fsm.state() == State::arming) {
    return input.name == "on_watched" || input.name.starts_with("on_predecessor");
  }
  return from.fsm.state() == State::enqueuing && !from.create_answered &&
         awaits(from.fsm, input.name);
}

/// Returns for example "ended (remove_node, fail)": the state, and the kinds of the effects.
std::string state_after(State state, const AcquireEffects& effects) {
  std::string text(to_string(state));
  for (const AcquireEffect& effect : effects) {
    text += &effect == &effects.front() ? " (" : ", ";
    text += to_string(effect.kind);
    if (!effect.sibling.empty()) text += " and its marker";
    if (effect.reads_first) text += " if own";
  }
  return effects.empty() ? text : text + ")";
}

/// Returns the machine after the input.
Explored after(const Explored& from, const Input& input, Transitions& made) {
  Explored next = from;
  const State before = from.fsm.state();
  const AcquireEffects effects = input.give(next.fsm);
  const State now = next.fsm.state();
  const std::string status = status_after(from, input);
  if (now != before || !effects.empty()) {
    made.insert({std::string(to_string(before)), input.name, state_after(now, effects),
                 status.empty() ? "" : status + fact_of(from)});
    if (input.name != "withdraw") {
      next.replies.clear();
      next.status = "ok";
    }
  } else if (is_remembered(from, input)) {
    next.replies += input.name + ' ' + input.node + ' ';
    if (!input.answer.empty()) next.status = status;
    // A reply that comes before the create's says only that it failed.
    if (before == State::arming || input.name == "on_created") next.replies += input.answer;
  }
  if (before != State::pausing) next.paused_in = now == State::pausing ? before : State::idle;
  if (input.name == "withdraw") next.withdrawn = true;
  if (input.name == "on_own_node_deleted" && from.fsm.node().exists()) next.own_node_deleted = true;
  if (input.name == "on_done" && before == State::marking) next.marked = true;
  if (input.name == "on_created" && before == State::enqueuing) next.create_answered = true;
  const bool from_create = before == State::enqueuing || before == State::moving;
  if (now == State::draining && from_create) next.name_taken = true;
  if (before == State::recovering)
    next.candidates = now == State::inspecting ? input.candidates : 0;
  const bool is_inspected = before == State::inspecting && input.name == "on_inspected";
  if (is_inspected && now == before && input.status != Status::unknown) --next.candidates;
  if (is_inspected && now != before && now != State::pausing) next.candidates = 0;
  if (input.name == "on_listed" && next.newer_predecessors == 1) next.newer_predecessors = 2;
  if (input.is_newer && next.newer_predecessors == 0) next.newer_predecessors = 1;
  const bool is_event = input.name.starts_with("on_predecessor");
  if (is_event) next.active.erase(input.node);
  if (input.name == "on_watched" && input.status == Status::ok) next.active.insert(input.node);
  if (now != State::arming && now != State::waiting) next.active.clear();
  for (const AcquireEffect& effect : effects) {
    if (effect.kind == Kind::unwatch) next.active.clear();
    if (effect.kind == Kind::fail) next.failed = true;
    if (effect.kind == Kind::create) {
      next.create_answered = next.name_taken = next.own_node_deleted = next.marked = false;
      next.newer_predecessors = 0;
    }
  }
  return next;
}

/// Gives every input in every situation that the machine can reach. Returns the number of
/// situations.
std::size_t explore(const AcquireFsm& fsm, Transitions& made) {
  std::deque<Explored> open{{fsm}};
  std::set<std::string> known{open.front().key()};
  while (!open.empty()) {
    const Explored from = std::move(open.front());
    open.pop_front();
    for (const Input& input : inputs_of(from)) {
      // There is only one reply to each watch.
      if (input.name == "on_watched" && has_reply(from, input)) continue;
      Explored next = after(from, input, made);
      if (known.insert(next.key()).second) open.push_back(std::move(next));
    }
  }
  return known.size();
}

std::vector<AcquireFsm::Policy> policies() {
  constexpr std::chrono::seconds kDelay(3);
  const QueueRule gate = QueueRule::weighted(5, 2);
  std::vector<AcquireFsm::Policy> all{
      {},
      {.count_children = false},
      {.always_list = true},
      {.lock_delay = kDelay},
      {.count_children = false, .lock_delay = kDelay},
      {.rule = QueueRule::reader()},
      {.rule = QueueRule::writer(), .lock_delay = kDelay},
      {.rule = QueueRule::permits(2, 4, false)},
      {.rule = QueueRule::permits(2, 4, true)},
      {.gate = gate},
      {.gate = gate, .lock_delay = kDelay},
  };
  for (std::size_t i = all.size(); i-- > 0;) {
    for (const auto& [wait, queue_again] :
         {std::pair(true, false), {false, true}, {false, false}}) {
      all.push_back(all[i]);
      all.back().wait = wait;
      all.back().queue_again = queue_again;
    }
  }
  return all;
}

/// Returns a new machine, and machines for which one more repetition is too many.
std::vector<AcquireFsm> machines(const AcquireFsm::Policy& policy) {
  constexpr int kMost = 16;
  const AcquireFsm fresh("id", 1, policy);
  AcquireFsm without_path = fresh;
  AcquireFsm without_number = fresh;
  AcquireFsm without_count = fresh;
  const auto create = [](AcquireFsm& fsm, Status status, const std::string& name) {
    (void)fsm.on_created({status, kSessionA, name, {77}, ""}, true);
    (void)fsm.on_counted({Status::unknown, kSessionA, {}, 0}, true);
  };
  for (AcquireFsm* fsm : {&without_path, &without_number, &without_count}) (void)fsm->start();
  create(without_count, Status::ok, ZnodeName::make(fresh.present_rule().prefix(), {0}).text);
  for (int i = 0; i < kMost; ++i) {
    create(without_path, Status::no_node, "");
    (void)without_path.on_done({Status::ok, ""});
    create(without_number, Status::ok, "unreadable");
    (void)without_number.on_done({Status::ok, ""});
    const Children own{without_count.node().name()};
    const PermitsAnswer no_count{.status = Status::no_node, .session = kSessionA};
    (void)without_count.on_listed({Status::ok, {}, own, "", no_count}, true);
    (void)without_count.on_done({Status::ok, ""});
  }
  if (!fresh.policy().rule.shares_count()) return {fresh, without_path, without_number};
  return {fresh, without_path, without_number, without_count};
}

// ---- the page -----------------------------------------------------------------------------------

/// Returns the status as the page names it: statuses of one sort are one, if the machine never
/// distinguishes them.
std::string page_name(const std::string& name) {
  for (const Status status : kAllStatuses) {
    if (name_of(status) != name) continue;
    if (sort_of(status) == StatusSort::client_ended) return "closed";
    if (sort_of(status) == StatusSort::refused && status != Status::no_auth) return "refused";
  }
  return name;
}

/// The statuses of one request, with one fact, by the next states that they lead to.
using Rows = std::map<std::set<std::string>, std::set<std::string>>;

/// Returns the statuses of a row. The row of most failures has "any other", or "any" if it is the
/// only one.
std::string joined(const std::set<std::string>& names, bool is_only_row) {
  if (names.contains("refused")) return is_only_row ? "any" : "any other";
  std::string text;
  for (const std::string& name : names) text += (text.empty() ? "" : ", ") + name;
  return text;
}

std::string page_of(const Transitions& made) {
  std::map<std::array<std::string, 4>, std::map<std::string, std::set<std::string>>> next_of;
  for (const state_table::Transition& each : made) {
    const auto colon = each.status.find(": ");
    const auto comma = std::min(each.status.find(", "), each.status.size());
    const auto begin = colon == std::string::npos ? 0 : colon + 2;
    const std::string fact = comma < each.status.size() ? each.status.substr(comma + 2) : "";
    next_of[{each.state, each.input, fact, each.status.substr(0, begin)}]
           [page_name(each.status.substr(begin, comma - begin))]
               .insert(each.next);
  }
  std::string page =
      "# Transitions of the acquire machine\n\n"
      "`acquire_fsm_table_test.cpp` writes this page. It gives `AcquireFsm` every input in every "
      "situation. The code is in\n`acquire_fsm_transitions.cpp`.\n\n"
      "- `create: x` is the status of the create, and `permit count: x` that of the get after a "
      "list that is ok.\n"
      "- `withdrawn`: the contender was withdrawn, or has failed. `own znode deleted`: an event "
      "has "
      "said so.\n"
      "- `refused` are all statuses of `StatusSort::refused` but `no_auth`, and `closed` includes "
      "`auth_failed`.\n"
      "- `ended (remove_node, fail)`: the next state, and the kinds of the effects in their order. "
      "The policy, the other children and the lease\n  decide between several next states.\n\n"
      "| state | input | contender | status | next state |\n|---|---|---|---|---|\n";
  for (const auto& [key, nexts] : next_of) {
    Rows rows;
    for (const auto& [status, states] : nexts) rows[states].insert(status);
    for (const auto& [states, statuses] : rows) {
      page += "| " + key[0] + " | " + key[1] + " | " + key[2] + " | " + key[3] +
              joined(statuses, rows.size() == 1) + " | " + joined(states, false) + " |\n";
    }
  }
  return page;
}

TEST(AcquireFsmTable, EveryReachableTransition_IsOnThePage) {
  Transitions made;
  std::size_t situations = 0;
  for (const AcquireFsm::Policy& policy : policies()) {
    for (const AcquireFsm& fsm : machines(policy)) situations += explore(fsm, made);
  }
  EXPECT_GT(situations, 1'000U);
  const std::string page = page_of(made);
  if (page == transitions_page()) return;
  const auto name = std::filesystem::path(kTransitionsPage).filename();
  std::ofstream(name) << page;
  ADD_FAILURE() << kTransitionsPage << " differs. If the change is intended, replace it by the "
                << "file " << name << " of the working directory.";
}

}  // namespace
}  // namespace zklock::core::acquire_test
