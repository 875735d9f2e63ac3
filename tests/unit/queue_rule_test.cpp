// SPDX-License-Identifier: Apache-2.0
// Compares every rule with a slow reading of its table, on random lists.
#include "zklock/core/queue_rule.h"

#include <algorithm>
#include <cstdint>
#include <limits>
#include <map>
#include <optional>
#include <random>
#include <set>
#include <string>
#include <vector>

#include <gtest/gtest.h>

namespace zklock::core {
namespace {

using Verdict = Decision::Verdict;
using Children = std::vector<std::string>;

constexpr std::int64_t everything = std::numeric_limits<std::int32_t>::max();

std::string numbered(const std::string& prefix, int sequence) {
  return ZnodeName::make(prefix, {sequence}).text;
}

/// A contender that the test made. Its fields are not parsed by the code under test.
struct Contender {
  std::string name;
  Access access;
  std::int32_t wanted = 0;
  std::int32_t of = 0;
};

/// Returns the weight that the table in queue_rule.h gives to `other` under `rule`.
std::int64_t weighs(const Contender& other, const QueueRule& rule) {
  if (rule.access == Access::exclusive) return 1;
  if (rule.access == Access::shared) return other.access == Access::shared ? 0 : 1;
  const bool agrees = other.access == Access::permits && other.of == rule.of;
  return agrees ? other.wanted : everything;
}

/// Returns whether a contender of that rule, behind `before`, can be granted.
bool grantable(const std::vector<Contender>& before, const QueueRule& rule) {
  std::int64_t taken = 0;
  for (const Contender& each : before) taken += weighs(each, rule);
  if (rule.access != Access::permits) return taken == 0;
  return rule.wanted <= rule.all && taken <= rule.all - rule.wanted;
}

std::optional<std::int32_t> agreed(const std::vector<Contender>& before) {
  for (const Contender& each : before) {
    if (each.access == Access::permits) return each.of;
  }
  return std::nullopt;
}

QueueRule rule_of(const Contender& own, std::int32_t all_of_shared) {
  switch (own.access) {
    case Access::exclusive: return QueueRule::writer();
    case Access::shared: return QueueRule::reader();
    case Access::permits:
    case Access::weighted: break;
  }
  return QueueRule::permits(own.wanted, own.of > 0 ? own.of : all_of_shared, own.of == 0);
}

/// The kinds of contenders at a path.
enum class Mix { writers, both, permits_of_3, permits_of_5, shared_permits, numbers, all };
constexpr Mix all_mixes[] = {Mix::writers,      Mix::both,           Mix::permits_of_3,
                             Mix::permits_of_5, Mix::shared_permits, Mix::numbers,
                             Mix::all};

class RandomQueue {
 public:
  RandomQueue(Mix mix, std::uint64_t seed) : random_(seed), mix_(mix) {
    const int count = below(8);
    int sequence = below(3);
    for (int i = 0; i < count; ++i) {
      queue_.push_back(contender(sequence));
      sequence += 1 + below(3);
    }
    for (const Contender& each : queue_) children_.push_back(each.name);
    for (const char* junk : {"config", "lock-", "permits-2-of-0-0000000001", "__READ__7"}) {
      if (below(4) == 0) children_.emplace_back(junk);
    }
    std::shuffle(children_.begin(), children_.end(), random_);
  }
  int below(int n) { return static_cast<int>(random_() % static_cast<unsigned>(n)); }
  /// In the order of arrival.
  const std::vector<Contender>& queue() const { return queue_; }
  const Children& children() const { return children_; }

 private:
  Contender permits(int sequence, int of) {
    // With a shared count, a contender can request more permits than there are.
    const int wanted = 1 + below(of > 0 ? of : 6);
    return {numbered(permits_prefix(wanted, of), sequence), Access::permits, wanted, of};
  }
  Contender exclusive(int sequence) {
    static const Children prefixes{"lock-", "__WRIT__",
                                   "_c_8a7d6c1e-0f3b-4a2f-9d55-3f2a2b1c0d9e-lock-",
                                   "_c_8a7d6c1e-0f3b-4a2f-9d55-3f2a2b1c0d9e-__WRIT__",
                                   "8a7d6c1e0f3b4a2f9d553f2a2b1c0d9e__lock__"};
    return {numbered(prefixes[static_cast<std::size_t>(below(5))], sequence), Access::exclusive};
  }
  Contender reader(int sequence) {
    static const Children prefixes{"__READ__", "_c_8a7d6c1e-0f3b-4a2f-9d55-3f2a2b1c0d9e-__READ__",
                                   "8a7d6c1e0f3b4a2f9d553f2a2b1c0d9e__rlock__"};
    return {numbered(prefixes[static_cast<std::size_t>(below(3))], sequence), Access::shared};
  }
  Contender contender(int sequence) {
    switch (mix_) {
      case Mix::writers: return exclusive(sequence);
      case Mix::both: return below(3) == 0 ? exclusive(sequence) : reader(sequence);
      case Mix::permits_of_3: return permits(sequence, 3);
      case Mix::permits_of_5: return permits(sequence, 5);
      case Mix::shared_permits: return permits(sequence, 0);
      case Mix::numbers: return permits(sequence, below(6) == 0 ? 4 : 3);
      case Mix::all: break;
    }
    switch (below(4)) {
      case 0: return exclusive(sequence);
      case 1: return reader(sequence);
      default: return permits(sequence, 3);
    }
  }

  std::mt19937_64 random_;
  Mix mix_;
  std::vector<Contender> queue_;
  Children children_;
};

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
  const bool possible = rule.access != Access::permits || rule.wanted <= rule.all;
  for (unsigned bits = 0; bits < (1U << before.size()); ++bits) {
    if (grantable(some_of(before, decision.watch, bits), rule)) return "a grant goes unnoticed";
  }
  if (!possible) return decision.watch.empty() ? "" : "it watches, and nothing can help";
  // Minimal: if one of them is not watched, a grant could be missed.
  for (const std::string& one : decision.watch) {
    Children fewer = decision.watch;
    std::erase(fewer, one);
    if (!grantable(some_of(before, fewer, 0), rule)) return one + " is watched in vain";
  }
  const std::set<std::string> distinct(decision.watch.begin(), decision.watch.end());
  if (distinct.size() != decision.watch.size()) return "one is watched twice";
  if (rule.access == Access::permits) {
    return decision.watch.size() <= static_cast<std::size_t>(rule.all) ? "" : "more than permits";
  }
  // The nearest predecessor that excludes it.
  const auto nearest = std::find_if(before.rbegin(), before.rend(),
                                    [&](const Contender& each) { return weighs(each, rule) > 0; });
  return decision.watch == Children{nearest->name} ? "" : "not the nearest";
}

/// Returns what is wrong if a watched holder's release is taken for a grant, or an empty string.
std::string fault_of_trust(const Decision& decision, const std::vector<Contender>& before,
                           const QueueRule& rule) {
  if (!decision.follows_release) {
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
    if (!grantable(left, rule)) return "it trusts " + watched->name + " in vain";
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
  if (own.access == Access::permits && number && *number != own.of) {
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
  for (const Mix mix : all_mixes) {
    for (std::uint64_t seed = 0; seed < 3000; ++seed) {
      RandomQueue random(mix, seed);
      const std::int32_t all = random.below(6);  // of a shared count: also 0, or lowered
      for (std::size_t at = 0; at < random.queue().size(); ++at) {
        check_one(random, at, all);
        if (::testing::Test::HasFatalFailure()) {
          FAIL() << "mix " << static_cast<int>(mix) << ", seed " << seed << ", all " << all << ": "
                 << testing::PrintToString(random.children()) << " own " << random.queue()[at].name;
        }
      }
    }
  }
}

TEST(QueueRule, HolderOfAQueue_HasNoConflictAhead) {
  for (const Mix mix : all_mixes) {
    for (std::uint64_t seed = 0; seed < 3000; ++seed) {
      RandomQueue random(mix, seed);
      const std::int32_t all = 1 + random.below(5);
      Holders holders(all);
      for (const Contender& each : random.queue()) {
        const Decision decision = decide(random.children(), each.name, rule_of(each, all));
        ASSERT_EQ(holders.next_holds(*parse_contention(each.name)),
                  decision.verdict == Verdict::first)
            << "mix " << static_cast<int>(mix) << ", seed " << seed << ", " << each.name << " of "
            << testing::PrintToString(random.children());
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

struct Named {
  QueueRule rule;
  std::string prefix;
};
const Named named_rules[] = {{QueueRule::mutex(), "lock-"},
                             {QueueRule::writer(), "__WRIT__"},
                             {QueueRule::reader(), "__READ__"},
                             {QueueRule::permits(2, 5, false), "permits-2-of-5-"},
                             {QueueRule::permits(2, 5, true), "permits-2-"},
                             {QueueRule::weighted(7, 16), "weight-7-age-16-"},
                             {QueueRule::weighted(7, 0), "weight-7-"}};

// Other versions and other libraries use these names.
TEST(QueueRule, EveryRule_HasItsNamePrefix) {
  for (const Named& each : named_rules) EXPECT_EQ(each.rule.prefix(), each.prefix);
}

TEST(QueueRule, NameOfEveryRule_IsParsedBack) {
  for (const Named& each : named_rules) {
    const std::string name = numbered(each.rule.prefix(), 42);
    const auto read = parse_contention(name);
    ASSERT_TRUE(read) << name;
    EXPECT_EQ(read->access, each.rule.access) << name;
    EXPECT_EQ(read->prefix, each.prefix);
    const bool counts = each.rule.access == Access::permits;
    EXPECT_EQ(read->permits, counts ? each.rule.wanted : 0) << name;
    EXPECT_EQ(read->of, each.rule.of) << name;
    EXPECT_EQ(read->weight, each.rule.weight) << name;
    EXPECT_EQ(read->ageing, each.rule.ageing) << name;
    EXPECT_TRUE(read->is_of_zklock()) << name;
  }
}

TEST(QueueRule, EveryRule_IsMutexOrWriterByItsPrefix) {
  for (const Named& each : named_rules) {
    EXPECT_EQ(each.rule.is_mutex(), each.prefix == "lock-") << each.prefix;
    EXPECT_EQ(each.rule.is_writer(), each.prefix == "__WRIT__") << each.prefix;
  }
}

TEST(QueueRule, NotInTheList_NeitherGrantedNorMismatched) {
  const Children children{numbered("permits-1-of-4-", 1)};
  const Decision gone =
      decide(children, numbered("permits-1-of-3-", 2), QueueRule::permits(1, 3, false));
  EXPECT_EQ(gone.verdict, Verdict::vanished);
  EXPECT_EQ(decide({}, numbered("__READ__", 2), QueueRule::reader()).verdict, Verdict::vanished);
}

// One heavy predecessor suffices. The ends of the light ones behind it would not lead to a grant.
TEST(QueueRule, HeavyPredecessor_IsWatchedAlone) {
  const Children children{numbered("permits-4-of-5-", 1), numbered("permits-1-of-5-", 2),
                          numbered("permits-1-of-5-", 3), numbered("permits-3-of-5-", 4)};
  const auto watch = decide(children, children[3], QueueRule::permits(3, 5, false)).watch;
  EXPECT_EQ(watch, Children{children[0]});
}

TEST(QueueRule, EqualPredecessors_NearestAreWatched) {
  Children children;
  for (int i = 1; i <= 6; ++i) children.push_back(numbered("permits-1-of-3-", i));
  const auto watch = decide(children, children[5], QueueRule::permits(2, 3, false)).watch;
  EXPECT_EQ(watch, (Children{children[4], children[3]}));
}

// A contender that is about to be refused does not cause the refusal of others.
TEST(QueueRule, MismatchedContender_BlocksThoseBehindIt) {
  const std::string right = numbered("permits-1-of-3-", 1);
  const std::string wrong = numbered("permits-1-of-9-", 2);
  const std::string late = numbered("permits-1-of-3-", 3);
  const Children children{late, wrong, right};
  EXPECT_EQ(decide(children, wrong, QueueRule::permits(1, 9, false)).other_setting, 3);
  const Decision behind = decide(children, late, QueueRule::permits(1, 3, false));
  EXPECT_EQ(behind.verdict, Verdict::behind);
  EXPECT_EQ(behind.watch, Children{wrong});
  EXPECT_EQ(decide({{late, right}}, late, QueueRule::permits(1, 3, false)).verdict, Verdict::first);
}

TEST(QueueRule, MorePermitsThanTheCount_WatchesNoContender) {
  const std::string own = numbered("permits-3-", 2);
  const Children children{numbered("permits-1-", 1), own};
  const QueueRule rule = QueueRule::permits(3, 2, true);
  EXPECT_TRUE(rule.shares_count());
  EXPECT_FALSE(QueueRule::permits(3, 4, false).shares_count());
  EXPECT_FALSE(QueueRule::mutex().shares_count());
  for (const Children& list : {children, Children{own}}) {
    const Decision decision = decide(list, own, rule);
    EXPECT_EQ(decision.verdict, Verdict::behind);
    EXPECT_TRUE(decision.watch.empty());
  }
  EXPECT_EQ(decide(children, own, QueueRule::permits(3, 4, true)).verdict, Verdict::first);
}

TEST(QueueRule, LargestPermits_DoNotOverflow) {
  const auto largest = std::numeric_limits<std::int32_t>::max();
  Children children;
  for (int i = 0; i < 200; ++i) children.push_back(numbered(permits_prefix(largest, largest), i));
  const auto decision =
      decide(children, children[199], QueueRule::permits(largest, largest, false));
  EXPECT_EQ(decision.watch, Children{children[198]});
  children.push_back(numbered(permits_prefix(1, largest), 200));
  EXPECT_EQ(decide(children, children[200], QueueRule::permits(1, largest, false)).watch,
            (Children{children[199]}));
}

// ---- contenders that arrive, hold and leave ----------------------------------------------------

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
      if (const std::string wrong = violation(); !wrong.empty()) return wrong;
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
      const bool trusted = each.decision.follows_release;
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
    std::int64_t least = everything;
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
  static std::int64_t number_of(const Contender& who) { return who.of > 0 ? who.of : 6; }

  RandomQueue random_;
  std::vector<Contender> rest_;
  std::vector<Standing> queue_;
  std::string wrong_;
};

TEST(QueueRule, RandomArrivals_AllAreGranted) {
  for (const Mix mix : all_mixes) {
    for (std::uint64_t seed = 0; seed < 3000; ++seed) {
      ASSERT_EQ(Simulation(mix, seed).run(), "")
          << "mix " << static_cast<int>(mix) << ", seed " << seed;
    }
  }
}

}  // namespace
}  // namespace zklock::core
