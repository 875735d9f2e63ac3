// SPDX-License-Identifier: Apache-2.0
// Compares every rule with a slow reading of its table, on random lists.
#include <algorithm>
#include <cstdint>
#include <limits>
#include <set>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "random_queue.h"
#include "zklock/core/queue_rule.h"

namespace zklock::core {
namespace {

using Verdict = Decision::Verdict;

/// Returns the named contenders of `before`, and of the others those whose bit in `bits` is set.
std::vector<Contender> some_of(const std::vector<Contender>& before, const Children& named,
                               unsigned bits) {
  std::vector<Contender> some;
  for (std::size_t i = 0; i < before.size(); ++i) {
    const bool is_named = std::ranges::find(named, before[i].name) != named.end();
    if (is_named || (bits & (1U << i)) != 0) some.push_back(before[i]);
  }
  return some;
}

/// Returns what is wrong with the watched contenders, or an empty string.
std::string fault_of_watch(const Decision& decision, const std::vector<Contender>& before,
                           const QueueRule& rule) {
  // Sound: without the end of a watched contender it is not granted, so no grant is missed.
  const bool possible = rule.access != Access::permits || rule.wanted <= rule.total;
  for (unsigned bits = 0; bits < (1U << before.size()); ++bits) {
    if (grantable(some_of(before, decision.watch, bits), rule)) return "a grant goes unnoticed";
  }
  if (!possible) return decision.watch.empty() ? "" : "it watches, and nothing can help";
  // Minimal: if one of them is not watched, a grant could be missed.
  for (const std::string& one : decision.watch) {
    Children fewer = decision.watch;
    std::erase(fewer, one);
    if (!grantable(some_of(before, fewer, 0), rule)) return one + " is watched needlessly";
  }
  const std::set<std::string> distinct(decision.watch.begin(), decision.watch.end());
  if (distinct.size() != decision.watch.size()) return "one is watched twice";
  if (rule.access == Access::permits) {
    return decision.watch.size() <= static_cast<std::size_t>(rule.total) ? "" : "more than permits";
  }
  // The nearest predecessor that excludes it.
  const auto nearest = std::find_if(before.rbegin(), before.rend(),
                                    [&](const Contender& each) { return weighs(each, rule) > 0; });
  return decision.watch == Children{nearest->name} ? "" : "not the nearest";
}

/// Returns what is wrong if a watched holder's release is taken for a grant, or an empty string.
std::string fault_of_trust(const Decision& decision, const std::vector<Contender>& before,
                           const QueueRule& rule) {
  if (!decision.grant_by_release) {
    // It could rely on the release, which saves a request.
    if (rule.access == Access::permits || decision.watch.empty()) return "";
    const auto watched = std::ranges::find(before, decision.watch.front(), &Contender::name);
    return watched->access == Access::exclusive ? "it does not trust" : "";
  }
  if (decision.watch.size() != 1) return "it trusts one of several";
  const auto watched = std::ranges::find(before, decision.watch.front(), &Contender::name);
  const auto at = static_cast<std::size_t>(watched - before.begin());
  // The contenders ahead of it were compatible with its own rule when it held.
  for (unsigned bits = 0; bits < (1U << at); ++bits) {
    std::vector<Contender> left = some_of({before.begin(), watched}, {}, bits);
    if (!grantable(left, rule_of(*watched, 3))) continue;
    left.insert(left.end(), watched + 1, before.end());
    if (!grantable(left, rule)) return "it trusts " + watched->name + " wrongly";
  }
  return "";
}

void check_one(const RandomQueue& random, std::size_t at, std::int32_t all) {
  const Contender& own = random.queue()[at];
  const QueueRule rule = rule_of(own, all);
  const std::vector<Contender> before(random.queue().begin(),
                                      random.queue().begin() + static_cast<std::ptrdiff_t>(at));
  const Decision decision = decide(random.children(), own.name, rule);
  ASSERT_EQ(decision.position, at);
  const auto number = agreed(before);
  if (own.access == Access::permits && number && *number != own.named_total) {
    ASSERT_EQ(decision.verdict, Verdict::mismatch);
    ASSERT_EQ(decision.other_setting, *number);
    return;
  }
  if (grantable(before, rule)) {
    ASSERT_EQ(decision.verdict, Verdict::first);
    ASSERT_TRUE(decision.watch.empty());
    return;
  }
  ASSERT_EQ(decision.verdict, Verdict::behind);
  ASSERT_EQ(fault_of_watch(decision, before, rule), "");
  ASSERT_EQ(fault_of_trust(decision, before, rule), "");
}

TEST(QueueRule, RandomQueues_DecisionMatchesTheTable) {
  for (const Mix mix : kAllMixes) {
    for (std::uint64_t seed = 0; seed < 3000; ++seed) {
      RandomQueue random(mix, seed);
      const std::int32_t all = random.below(6);  // of a shared count: also 0, or lowered
      for (std::size_t at = 0; at < random.queue().size(); ++at) {
        check_one(random, at, all);
        if (::testing::Test::HasFatalFailure()) {
          FAIL() << "mix " << static_cast<int>(mix) << ", seed " << seed << ", all " << all << ": "
                 << ::testing::PrintToString(random.children()) << " own "
                 << random.queue()[at].name;
        }
      }
    }
  }
}

TEST(QueueRule, HolderOfAQueue_HasNoConflictAhead) {
  for (const Mix mix : kAllMixes) {
    for (std::uint64_t seed = 0; seed < 3000; ++seed) {
      RandomQueue random(mix, seed);
      const std::int32_t all = 1 + random.below(5);
      Holders holders(all);
      for (const Contender& each : random.queue()) {
        const Decision decision = decide(random.children(), each.name, rule_of(each, all));
        ASSERT_EQ(holders.add(*parse_znode_name(each.name)), decision.verdict == Verdict::first)
            << "mix " << static_cast<int>(mix) << ", seed " << seed << ", " << each.name << " of "
            << ::testing::PrintToString(random.children());
      }
    }
  }
}

TEST(QueueRule, Holders_AreListedForAQueue) {
  const auto names = [](const Children& children, std::int32_t all) {
    Children result;
    for (const ZnodeName& name : holders(contenders(children), all)) result.push_back(name.text);
    return result;
  };
  const Children readers{numbered("__READ__", 3), numbered("__WRIT__", 5), numbered("__READ__", 4),
                         numbered("__READ__", 6)};
  EXPECT_EQ(names(readers, 0), (Children{readers[0], readers[2]}));
  const int last = std::numeric_limits<int>::max();
  const Children strays{numbered("lock-", -7), numbered("lock-", 8), numbered("lock-", 9)};
  EXPECT_EQ(names(strays, 0), Children{strays[1]}) << "ours, by a counter beyond its end";
  const Children foreign{numbered("_c_8a7d6c1e-0f3b-4a2f-9d55-3f2a2b1c0d9e-lock-", -7),
                         numbered("lock-", 8)};
  EXPECT_EQ(names(foreign, 0), Children{foreign[0]}) << "another's may hold";
  const Children at_end{numbered("__WRIT__", last),
                        numbered("_c_8a7d6c1e-0f3b-4a2f-9d55-3f2a2b1c0d9e-lock-", last)};
  EXPECT_EQ(names(at_end, 0), Children{at_end[1]});
  const Children behind{numbered("weight-3-", 1), numbered("lock-", 2), numbered("lock-", 3)};
  EXPECT_EQ(names(behind, 0), Children{behind[1]});
  const Children shared{numbered("permits-2-", 1), numbered("permits-1-", 2),
                        numbered("permits-1-", 3)};
  EXPECT_EQ(names(shared, 3), (Children{shared[0], shared[1]}));
  EXPECT_EQ(names({"release-request-0000000001"}, 0), Children{});
}

}  // namespace
}  // namespace zklock::core
