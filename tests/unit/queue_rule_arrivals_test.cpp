// SPDX-License-Identifier: Apache-2.0
// Queues with random arrivals and releases, by every rule: each contender is granted.
#include <algorithm>
#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "random_queue.h"
#include "zklock/core/queue_rule.h"

namespace zklock::core {
namespace {

using Verdict = Decision::Verdict;

/// Contenders that read the list only when a watched znode is deleted.
class Simulation {
 public:
  Simulation(Mix mix, std::uint64_t seed) : random_(mix, seed), rest_(random_.queue()) {}

  /// Returns what went wrong, or an empty string.
  std::string run() {
    for (int step = 0; step < 1000; ++step) {
      if (!rest_.empty() && (queue_.empty() || random_.below(2) == 0)) {
        arrive();
      } else if (!go()) {
        if (rest_.empty()) return queue_.empty() ? "" : "the queue stands still";
        arrive();
      }
      if (std::string wrong = violation(); !wrong.empty()) return wrong;
    }
    return "it has come to no end";
  }

 private:
  struct Standing {
    Contender who;
    Decision decision;
  };
  Children names() const {
    Children names;
    for (const Standing& each : queue_) names.push_back(each.who.name);
    return names;
  }
  void arrive() {
    queue_.push_back({rest_.front(), {}});
    rest_.erase(rest_.begin());
    queue_.back().decision = look(queue_.back().who);
    drop_refused();
  }
  Decision look(const Contender& who) const { return decide(names(), who.name, rule_of(who, 6)); }
  /// Removes any of the holders. Returns false if there is none.
  bool go() {
    std::vector<std::size_t> holding;
    for (std::size_t i = 0; i < queue_.size(); ++i) {
      if (queue_[i].decision.verdict == Verdict::first) holding.push_back(i);
    }
    if (holding.empty()) return false;
    const auto any = static_cast<std::size_t>(random_.below(static_cast<int>(holding.size())));
    leave(holding[any]);
    drop_refused();
    return true;
  }
  void leave(std::size_t at) {
    const std::string name = queue_[at].who.name;
    queue_.erase(queue_.begin() + static_cast<std::ptrdiff_t>(at));
    for (Standing& each : queue_) {
      const auto& watch = each.decision.watch;
      if (std::ranges::find(watch, name) == watch.end()) continue;
      const bool trusted = each.decision.grant_by_release;
      each.decision = look(each.who);
      if (trusted && each.decision.verdict != Verdict::first) wrong_ = "a release was no grant";
    }
  }
  void drop_refused() {
    for (;;) {
      const auto refused = std::ranges::find_if(
          queue_, [](const Standing& each) { return each.decision.verdict == Verdict::mismatch; });
      if (refused == queue_.end()) return;
      leave(static_cast<std::size_t>(refused - queue_.begin()));
    }
  }
  std::string violation() const {
    if (!wrong_.empty()) return wrong_;
    std::map<Access, int> holders;
    std::int64_t permits = 0;
    std::int64_t least = kEverything;
    for (const Standing& each : queue_) {
      if (each.decision.verdict != Verdict::first) continue;
      ++holders[each.who.access];
      permits += each.who.wanted;
      if (each.who.access == Access::permits) least = std::min(least, number_of(each.who));
    }
    if (holders.size() > 1) return "kinds that exclude each other hold together";
    if (holders[Access::exclusive] > 1) return "two hold alone";
    return permits <= least ? "" : "more permits are held than there are";
  }
  static std::int64_t number_of(const Contender& who) {
    return who.named_total > 0 ? who.named_total : 6;
  }

  RandomQueue random_;
  std::vector<Contender> rest_;
  std::vector<Standing> queue_;
  std::string wrong_;
};

TEST(QueueRule, RandomArrivals_AllAreGranted) {
  for (const Mix mix : kAllMixes) {
    for (std::uint64_t seed = 0; seed < 3000; ++seed) {
      ASSERT_EQ(Simulation(mix, seed).run(), "")
          << "mix " << static_cast<int>(mix) << ", seed " << seed;
    }
  }
}

}  // namespace
}  // namespace zklock::core
