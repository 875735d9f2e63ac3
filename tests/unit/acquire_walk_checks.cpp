// SPDX-License-Identifier: Apache-2.0
// The invariants of a random walk.
#include <algorithm>
#include <chrono>
#include <string>
#include <utility>

#include "acquire_walk.h"

namespace zklock::core::acquire_test {

void Walk::removal(const AcquireEffect& effect) {
  for (const std::string& name : {effect.text, effect.sibling}) {
    if (!DelayMarker::parse(name)) continue;
    if (effect.session == session_) markers_.erase(name);
    unmarked_.insert(name);
  }
  const auto node = find(effect.text);
  if (node == nodes_.end()) return;  // deleted before
  // The counter stays at its end. After the contender's znode was deleted by hand, another
  // contender can get its name. A znode of that number never holds, so its deletion takes no lock.
  if (!node->second.ours() && !is_usable({node->first})) return;
  if (node->second.session != effect.session) return blame("it removes on another session");
  if (++node->second.removes > 1) blame("it removes a node twice");
}

void Walk::check_grant(const AcquireEffect& effect) {
  if (gave_up_) blame("granted after giving up");
  if (!first_) blame("granted, but nothing said that it is first");
  if (!lease_was_valid_) blame("granted without a lease");
  if (effect.session != fsm_.node().session()) blame("granted on another session");
  const auto own = find_own();
  if (own == nodes_.end()) return;  // deleted; the machine has no event yet
  if (own->second.zxid != fsm_.node().token().zxid) blame("granted with another's token");
  if (own->second.removes > 0) blame("granted with a node that is being removed");
  if (own->second.session != session_) return;
  if (!is_first()) blame("granted behind another");
  if (!orphans(children()).empty()) blame("granted within a delay");
  const bool leaves =
      policy_.rule.access == Access::exclusive && policy_.lock_delay > std::chrono::seconds(0);
  const auto marker =
      DelayMarker::make(policy_.lock_delay, fsm_.node().token(), fsm_.node().sequence());
  if (markers_.contains(marker.name) != leaves) blame("granted with a wrong marker");
}

void Walk::check_failure(const AcquireEffect& effect) {
  if (effect.error != Errc::node_exists) return;
  ++counts_.taken_names;
  if (!is_next_name_taken_) blame("it fails because of a name that is free");
}

void Walk::check_delay() {
  delays_for_.clear();
  for (const DelayMarker& marker : fsm_.delay_markers().orphans) delays_for_.insert(marker.name);
  // Other contenders can have deleted some of them since the list.
  for (const DelayMarker& marker : orphans(children())) {
    if (!delays_for_.contains(marker.name)) blame("it does not wait for one");
  }
  delay_runs_ = true;
  ++counts_.delays;
}

void Walk::check_clear(const AcquireEffect& effect) {
  if (delay_runs_) blame("it does not wait until a delay is over");
  if (markers_.contains(effect.text) && !delays_for_.contains(effect.text)) {
    blame("it clears what it has not waited for");
  }
  submit(effect);
}

// A machine that never held leaves no marker, except of an ended session.
void Walk::check_markers() {
  if (!over_) return;
  for (const auto& [name, session] : markers_) {
    if (session == session_) blame("it left its marker " + name);
  }
}

// Every znode that the machine knew is deleted, or its delete was requested.
void Walk::check_end() {
  if (fsm_.node().exists()) blame("it ended with a node");
  for (const auto& [sequence, node] : nodes_) {
    if (!node.ours() || node.removes == 1) continue;
    if (node.known || !fate_open_) blame("it left its node " + std::to_string(sequence));
  }
}

// At any time, at most one znode of a contender stays in the queue.
void Walk::check_nodes() {
  int staying = 0;
  for (const auto& [sequence, node] : nodes_) staying += node.ours() && node.removes == 0 ? 1 : 0;
  if (staying > 1) blame("it has two nodes");
}

// Watches exist only while the machine waits for their events, and only once for each path.
void Walk::check_watches() {
  counts_.most_watches = std::max(counts_.most_watches, watched_.size());
  const bool wants = fsm_.state() == State::arming || fsm_.state() == State::waiting;
  if ((!watched_.empty() || watches_count_) && !wants) blame("it left a watch");
  const bool all_set = fsm_.state() == State::waiting && shares_count() && calm_;
  if (all_set && !watches_count_) blame("it would not notice more permits");
}

// Checks the queue rules independently. The znode can be deleted without the machine's knowledge.
bool Walk::is_first() {
  const auto own = parse_znode_name(fsm_.node().name());
  if (!own) return false;
  if (own->access == Access::weighted) return is_first_at_gate(*own);
  int free = all_permits_.value_or(-1);
  for (const auto& [sequence, other] : nodes_) {
    if (sequence >= own->sequence.value) break;
    const auto wish = *parse_znode_name(other.name);
    if (wish.access == Access::weighted) continue;
    const bool reads_too = wish.access == Access::shared && policy_.rule.access == Access::shared;
    if (policy_.rule.access != Access::permits && !reads_too) return false;
    if (policy_.rule.access == Access::permits && wish.access != Access::permits) return false;
    free -= wish.permits;
  }
  return policy_.rule.access != Access::permits || free >= policy_.rule.wanted;
}

bool Walk::is_first_at_gate(const ParsedZnodeName& own) {
  const auto turn = [this](const ParsedZnodeName& each) {
    return each.sequence.value - each.weight * policy_.gate->ageing;
  };
  return std::ranges::none_of(nodes_, [&](const auto& each) {
    const auto other = *parse_znode_name(each.second.name);
    if (other.access != Access::weighted) return true;
    return std::pair(turn(other), other.sequence) < std::pair(turn(own), own.sequence);
  });
}

}  // namespace zklock::core::acquire_test
