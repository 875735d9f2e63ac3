// SPDX-License-Identifier: Apache-2.0
// The rules of a queue: names, and decisions about single lists.
#include "zklock/core/queue_rule.h"

#include <cstdint>
#include <limits>
#include <string>
#include <string_view>
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
  for (const Named& each : kNamedRules) {
    EXPECT_EQ(each.rule.prefix(), each.prefix);
    EXPECT_EQ(each.rule.is_mutex(), each.prefix == "lock-") << each.prefix;
    EXPECT_EQ(each.rule.is_writer(), each.prefix == "__WRIT__") << each.prefix;
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

// ---- names and order -----------------------------------------------------------------------------

Decision decide_mutex(const Children& children, std::string_view own) {
  return decide(children, own, QueueRule::mutex());
}

std::string predecessor(const Decision& decision) {
  return decision.watch.size() == 1 ? decision.watch.front() : "";
}

const std::string kCurator = "_c_8a7d6c1e-0f3b-4a2f-9d55-3f2a2b1c0d9e-lock-";
const std::string kKazoo = "8a7d6c1e0f3b4a2f9d553f2a2b1c0d9e__lock__";

TEST(Queue, NodeMissing_IsNeverGranted) {
  EXPECT_EQ(decide_mutex({}, "lock-0000000001").verdict, Verdict::vanished);
  EXPECT_EQ(decide_mutex(Children{"lock-0000000002"}, "lock-0000000001").verdict,
            Verdict::vanished);
  const auto behind = decide_mutex(Children{"lock-0000000001"}, "lock-0000000002");
  EXPECT_EQ(behind.verdict, Verdict::vanished);
  EXPECT_EQ(predecessor(behind), "");
  EXPECT_EQ(behind.position, 0U);
  EXPECT_EQ(decide_mutex(Children{"config"}, "config").verdict, Verdict::vanished);
  EXPECT_EQ(decide_mutex(Children{""}, "").verdict, Verdict::vanished);
  // The sequence number is equal, but the znode is another.
  EXPECT_EQ(decide_mutex(Children{kCurator + "0000000001"}, "lock-0000000001").verdict,
            Verdict::vanished);
}

TEST(Queue, CounterPastItsEnd_IsEarlierNotLater) {
  const Children children{"lock-2147483647", "lock--2147483648"};
  EXPECT_EQ(decide_mutex(children, "lock--2147483648").verdict, Verdict::first);
  EXPECT_EQ(predecessor(decide_mutex(children, "lock-2147483647")), "lock--2147483648");
}

TEST(Queue, EqualNumbers_TextDecides) {
  const std::string last = "2147483647";
  const Children children{"lock-" + last, kKazoo + last, kCurator + last};
  EXPECT_EQ(decide_mutex(children, kKazoo + last).verdict, Verdict::first);
  EXPECT_EQ(predecessor(decide_mutex(children, kCurator + last)), kKazoo + last);
  EXPECT_EQ(predecessor(decide_mutex(children, "lock-" + last)), kCurator + last);
}

TEST(Queue, Contenders_AreListedInOrder) {
  const Children children{"x", "lock-0000000009", kKazoo + "0000000001", "lock-0000000001"};
  std::vector<std::string> texts;
  for (const auto& name : contenders(children)) texts.push_back(name.text);
  EXPECT_EQ(texts, (Children{kKazoo + "0000000001", "lock-0000000001", "lock-0000000009"}));
  EXPECT_TRUE(contenders({}).empty());
}

TEST(Queue, ContendersAtTheGate_ListedLastAndByWeight) {
  const Children children{"weight-1-age-2-0000000001", "weight-9-age-2-0000000008",
                          "lock-0000000009", "weight-1-age-2-0000000003",
                          "weight-2-age-2-0000000004"};
  std::vector<std::string> texts;
  for (const auto& name : contenders(children)) texts.push_back(name.text);
  EXPECT_EQ(texts, (Children{children[2], children[1], children[0], children[4], children[3]}));
}

// At an ageing of two, two units of weight are worth four sequence numbers.
TEST(Queue, Weight_OvertakesWithinItsReach) {
  const std::string light = "weight-1-age-2-0000000010";
  for (const std::string heavy : {"weight-3-age-2-0000000013", "weight-3-age-2-0000000014"}) {
    const bool overtakes = heavy.ends_with("13");
    const Children children{light, heavy};
    const Decision first =
        decide(children, overtakes ? heavy : light, QueueRule::weighted(overtakes ? 3 : 1, 2));
    EXPECT_EQ(first.verdict, Verdict::first) << heavy;
    const Decision second =
        decide(children, overtakes ? light : heavy, QueueRule::weighted(overtakes ? 1 : 3, 2));
    EXPECT_EQ(predecessor(second), overtakes ? heavy : light);
  }
}

TEST(Queue, LongQueue_IsAccepted) {
  Children children;
  for (std::int32_t i = 0; i < 10'000; ++i) children.push_back(numbered("lock-", i));
  const Decision decision = decide_mutex(children, "lock-0000009999");
  EXPECT_EQ(predecessor(decision), "lock-0000009998");
  EXPECT_EQ(decision.position, 9'999U);
}

}  // namespace
}  // namespace zklock::core
