// SPDX-License-Identifier: Apache-2.0
#include "zklock/engine/session/deadlock_detector.h"

#include <algorithm>

#include "zklock/core/znode_data.h"

namespace zklock::detail {

DeadlockDetector::WaitKey DeadlockDetector::add(BlockedCall call) {
  WaitKey key{call.owner, ++last_number_};
  ++paths_[call.path.get()];
  waits_.try_emplace(key, Registered{std::move(call), name_of_this_thread()});
  return key;
}

void DeadlockDetector::remove(const WaitKey& key) noexcept {
  const auto wait = waits_.find(key);
  const auto path = paths_.find(wait->second.call.path.get());
  if (--path->second == 0) paths_.erase(path);
  waits_.erase(wait);
}

std::optional<Deadlock> DeadlockDetector::find(const WaitKey& key) const {
  if (paths_.size() < 2) return std::nullopt;  // an owner that holds in a cycle waits elsewhere
  const Reading reading = read(key.first);
  const auto found = core::cycle_through(reading.edges, 0);
  if (!found) return std::nullopt;
  std::vector<Step> cycle;
  for (const std::size_t edge : found->edges) cycle.push_back(reading.steps[edge]);
  const auto newest = std::ranges::max(cycle, {}, [](const Step& step) { return step.key.second; });
  if (newest.key != key) return std::nullopt;
  Deadlock deadlock{.is_certain = found->is_certain, .is_settled = true, .text = text_of(cycle)};
  for (std::size_t i = 0; i < cycle.size(); ++i) {
    const BlockedContender::Blocker& blocker = cycle[i].blocker;
    const Step& next = cycle[(i + 1) % cycle.size()];
    // Otherwise another call of its owner is in the cycle, and this wait can end.
    if (blocker.waits && blocker.contender != next.waiter) deadlock.is_certain = false;
    deadlock.is_settled = deadlock.is_settled && cycle[i].has_node;
  }
  return deadlock;
}

DeadlockDetector::Reading DeadlockDetector::read(const Owner& owner) const {
  Reading reading;
  std::vector<Owner> owners{owner};
  std::map<Owner, std::size_t> numbers{{owner, 0}};
  for (std::size_t i = 0; i < std::min(owners.size(), kMostOwners); ++i) {
    const Owner waiting = owners[i];
    auto wait = waits_.lower_bound({waiting, 0});
    for (; wait != waits_.end() && wait->first.first == waiting; ++wait) {
      const BlockedCall& call = wait->second.call;
      const BlockedContender blocked = call.path->blockers_of(call.key);
      for (const BlockedContender::Blocker& blocker : blocked.blockers) {
        const auto [number, is_new] = numbers.try_emplace(blocker.owner, owners.size());
        if (is_new) owners.push_back(blocker.owner);
        const bool is_certain = call.is_thread_bound && blocker.is_thread_bound;
        reading.edges.push_back({i, number->second, is_certain});
        reading.steps.push_back(
            {wait->first, &wait->second, blocked.contender, blocked.has_node, blocker});
      }
    }
  }
  return reading;
}

std::string DeadlockDetector::text_of(const std::vector<Step>& cycle) {
  if (cycle.size() == 1) return "this owner holds it already";
  std::string text;
  for (std::size_t i = 1; i < cycle.size(); ++i) {
    const Registered& wait = *cycle[i].wait;
    if (i > 1) text += "; ";
    text += "the thread \"" + core::printable(wait.thread.data(), wait.thread.size()) +
            "\" (owner " + wait.call.owner.to_string() + ") ";
    text += cycle[i - 1].blocker.waits ? "is ahead" : i == 1 ? "holds it" : "holds that";
    text += " and waits for " + wait.call.path->waited_path();
  }
  text += cycle.back().blocker.waits ? ", where this owner is ahead" : ", which this owner holds";
  const std::string all = cycle.size() == 2 ? "both" : "them all";
  return text + "; acquire " + all + " in one order, or with a MultiMutex";
}

}  // namespace zklock::detail
