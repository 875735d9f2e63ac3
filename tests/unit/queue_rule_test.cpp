// SPDX-License-Identifier: Apache-2.0
// The rules of a queue: names, and decisions about single lists.
#include "zklock/core/queue_rule.h"

#include <cstdint>
#include <limits>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "random_queue.h"

namespace zklock::core {
namespace {

using Verdict = Decision::Verdict;

struct Named {
  QueueRule rule;
  std::string prefix;
};

const Named kNamedRules[] = {{QueueRule::mutex(), "lock-"},
                             {QueueRule::writer(), "__WRIT__"},
                             {QueueRule::reader(), "__READ__"},
                             {QueueRule::permits(2, 5, false), "permits-2-of-5-"},
                             {QueueRule::permits(2, 5, true), "permits-2-"},
                             {QueueRule::weighted(7, 16), "weight-7-age-16-"},
                             {QueueRule::weighted(7, 0), "weight-7-"}};

// Other versions and other libraries use these names.
TEST(QueueRule, EveryRule_HasItsNamePrefix) {
  for (const Named& each : kNamedRules) EXPECT_EQ(each.rule.prefix(), each.prefix);
}

TEST(QueueRule, NameOfEveryRule_IsParsedBack) {
  for (const Named& each : kNamedRules) {
    const std::string name = numbered(each.rule.prefix(), 42);
    const auto read = parse_znode_name(name);
    ASSERT_TRUE(read) << name;
    EXPECT_EQ(read->access, each.rule.access) << name;
    EXPECT_EQ(read->prefix, each.prefix);
    const bool counts = each.rule.access == Access::permits;
    EXPECT_EQ(read->permits, counts ? each.rule.wanted : 0) << name;
    EXPECT_EQ(read->named_total, each.rule.named_total) << name;
    EXPECT_EQ(read->weight, each.rule.weight) << name;
    EXPECT_EQ(read->ageing, each.rule.ageing) << name;
    EXPECT_TRUE(read->is_of_zklock()) << name;
  }
}

TEST(QueueRule, EveryRule_IsMutexOrWriterByItsPrefix) {
  for (const Named& each : kNamedRules) {
    EXPECT_EQ(each.rule.is_mutex(), each.prefix == "lock-") << each.prefix;
    EXPECT_EQ(each.rule.is_writer(), each.prefix == "__WRIT__") << each.prefix;
  }
}

TEST(QueueRule, NotInTheList_NeitherGrantedNorMismatched) {
  const Children children{numbered("permits-1-of-4-", 1)};
  const Decision vanished =
      decide(children, numbered("permits-1-of-3-", 2), QueueRule::permits(1, 3, false));
  EXPECT_EQ(vanished.verdict, Verdict::vanished);
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

}  // namespace
}  // namespace zklock::core
