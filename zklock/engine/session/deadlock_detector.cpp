// SPDX-License-Identifier: Apache-2.0
#include "zklock/engine/session/deadlock_detector.h"

#include <algorithm>

#include "zklock/core/znode_data.h"

namespace zklock::detail {

namespace {

bool is_same(const std::weak_ptr<const void>& a, const std::weak_ptr<const void>& b) noexcept {
  return !a.owner_before(b) && !b.owner_before(a);
}

}  // namespace

DeadlockDetector::Wait::Wait(DeadlockDetector& detector, BlockedCall call)
    : detector_(detector), key_(detector.add(std::move(call))) {}

DeadlockDetector::Wait::~Wait() {
  detector_.remove(key_);
}

DeadlockDetector::WaitKey DeadlockDetector::add(BlockedCall call) noexcept {
  const client::MutexLock guard(mutex_);
  WaitKey key{call.owner, ++last_number_};
  ++paths_[call.path.get()];
  waits_.try_emplace(key, Registered{std::move(call), name_of_this_thread()});
  return key;
}

void DeadlockDetector::remove(const WaitKey& key) noexcept {
  std::map<WaitKey, Registered>::node_type removed;  // destroyed without the mutex
  const client::MutexLock guard(mutex_);
  removed = waits_.extract(key);
  const auto path = paths_.find(removed.mapped().call.path.get());
  if (--path->second == 0) paths_.erase(path);
}

std::optional<Deadlock> DeadlockDetector::find(const WaitKey& key) {
  {
    // An owner that holds in a circle waits at another path.
    const client::MutexLock guard(mutex_);
    if (paths_.size() < 2) return std::nullopt;
  }
  const Reading reading = read(key.first);
  const auto cycle = core::cycle_through(reading.edges, 0);
  if (!cycle) return std::nullopt;
  std::vector<Step> circle;
  for (const std::size_t edge : cycle->edges) circle.push_back(reading.steps[edge]);
  const auto newest =
      std::ranges::max(circle, {}, [](const Step& step) { return step.key.second; });
  if (newest.key != key) return std::nullopt;
  const auto exists = [this](const Step& step) { return still_exists(step); };
  if (!std::ranges::all_of(circle, exists)) return std::nullopt;
  Deadlock found{.is_certain = cycle->is_certain, .is_settled = true, .text = text_of(circle)};
  for (std::size_t i = 0; i < circle.size(); ++i) {
    const BlockedContender::Blocker& blocker = circle[i].blocker;
    const Step& next = circle[(i + 1) % circle.size()];
    // Otherwise another call of its owner is in the circle, and this wait can end.
    if (blocker.waits && !is_same(blocker.contender, next.waiter)) found.is_certain = false;
    found.is_settled = found.is_settled && circle[i].has_node;
  }
  return found;
}

DeadlockDetector::Reading DeadlockDetector::read(const Owner& owner) {
  Reading reading;
  std::vector<Owner> owners{owner};
  std::map<Owner, std::size_t> numbers{{owner, 0}};
  for (std::size_t i = 0; i < std::min(owners.size(), kMostOwners); ++i) {
    for (const auto& [key, wait] : waits_of(owners[i])) {
      const BlockedContender blocked = wait.call.path->blockers_of(wait.call.key);
      for (const BlockedContender::Blocker& blocker : blocked.blockers) {
        const auto [number, is_new] = numbers.try_emplace(blocker.owner, owners.size());
        if (is_new) owners.push_back(blocker.owner);
        const bool is_certain = wait.call.is_thread_bound && blocker.is_thread_bound;
        reading.edges.push_back({i, number->second, is_certain});
        reading.steps.push_back({key, wait, blocked.contender, blocked.has_node, blocker});
      }
    }
  }
  return reading;
}

std::vector<std::pair<DeadlockDetector::WaitKey, DeadlockDetector::Registered>>
DeadlockDetector::waits_of(const Owner& owner) {
  std::vector<std::pair<WaitKey, Registered>> waits;
  const client::MutexLock guard(mutex_);
  const auto begin = waits_.lower_bound({owner, 0});
  for (auto wait = begin; wait != waits_.end() && wait->first.first == owner; ++wait) {
    waits.emplace_back(*wait);
  }
  return waits;
}

bool DeadlockDetector::still_exists(const Step& step) {
  {
    const client::MutexLock guard(mutex_);
    if (!waits_.contains(step.key)) return false;
  }
  const BlockedContender again = step.wait.call.path->blockers_of(step.wait.call.key);
  return is_same(again.contender, step.waiter) &&
         std::ranges::any_of(again.blockers, [&](const BlockedContender::Blocker& blocker) {
           return is_same(blocker.contender, step.blocker.contender) &&
                  blocker.is_thread_bound == step.blocker.is_thread_bound &&
                  blocker.waits == step.blocker.waits;
         });
}

std::string DeadlockDetector::text_of(const std::vector<Step>& circle) {
  if (circle.size() == 1) return "this owner holds it already";
  std::string text;
  for (std::size_t i = 1; i < circle.size(); ++i) {
    const Registered& wait = circle[i].wait;
    if (i > 1) text += "; ";
    text += "the thread \"" + core::printable(wait.thread.data(), wait.thread.size()) +
            "\" (owner " + wait.call.owner.to_string() + ") ";
    text += circle[i - 1].blocker.waits ? "is ahead" : i == 1 ? "holds it" : "holds that";
    text += " and waits for " + wait.call.path->waited_path();
  }
  text += circle.back().blocker.waits ? ", where this owner is ahead" : ", which this owner holds";
  const std::string all = circle.size() == 2 ? "both" : "them all";
  return text + "; acquire " + all + " in one order, or with a MultiMutex";
}

}  // namespace zklock::detail
