// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <random>
#include <set>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "zklock/core/queue_rule.h"

namespace zklock::core {
namespace {

using Verdict = Decision::Verdict;
using Children = std::vector<std::string>;

Decision decide(const Children& children, std::string_view own) {
  return core::decide(children, own, QueueRule::mutex());
}

std::string predecessor(const Decision& decision) {
  return decision.watch.size() == 1 ? decision.watch.front() : "";
}

TEST(Queue, OnlyContender_IsFirst) {
  const auto decision = decide(Children{"lock-0000000007"}, "lock-0000000007");
  EXPECT_EQ(decision.verdict, Verdict::first);
  EXPECT_EQ(predecessor(decision), "");
  EXPECT_EQ(decision.position, 0U);
}

TEST(Queue, BehindOthers_WaitsForTheNearest) {
  const Children children{"lock-0000000009", "lock-0000000001", "lock-0000000007",
                          "lock-0000000004", "lock-0000000002"};
  const auto decision = decide(children, "lock-0000000007");
  EXPECT_EQ(decision.verdict, Verdict::behind);
  EXPECT_EQ(predecessor(decision), "lock-0000000004");
  EXPECT_EQ(decision.position, 3U);
}

const std::string kCurator = "_c_8a7d6c1e-0f3b-4a2f-9d55-3f2a2b1c0d9e-lock-";
const std::string kGo = "_c_8a7d6c1e0f3b4a2f9d553f2a2b1c0d9e-lock-";
const std::string kKazoo = "8a7d6c1e0f3b4a2f9d553f2a2b1c0d9e__lock__";

TEST(Queue, NodeMissing_IsNeverGranted) {
  EXPECT_EQ(decide({}, "lock-0000000001").verdict, Verdict::vanished);
  EXPECT_EQ(decide(Children{"lock-0000000002"}, "lock-0000000001").verdict, Verdict::vanished);
  const auto behind = decide(Children{"lock-0000000001"}, "lock-0000000002");
  EXPECT_EQ(behind.verdict, Verdict::vanished);
  EXPECT_EQ(predecessor(behind), "");
  EXPECT_EQ(behind.position, 0U);
  // The sequence number is equal, but the znode is another.
  EXPECT_EQ(decide(Children{kCurator + "0000000001"}, "lock-0000000001").verdict,
            Verdict::vanished);
}

TEST(Queue, NameOfNoContender_IsNeverGranted) {
  EXPECT_EQ(decide(Children{"config"}, "config").verdict, Verdict::vanished);
  EXPECT_EQ(decide(Children{""}, "").verdict, Verdict::vanished);
}

TEST(Queue, ForeignChildren_AreIgnored) {
  const Children children{"config",           "lock-", "lock-9999999999",
                          "lock-00000000001", "",      "block-0000000001",
                          "lock-0000000005"};
  EXPECT_EQ(decide(children, "lock-0000000005").verdict, Verdict::first);
}

TEST(Queue, ContendersOfOtherLibraries_Count) {
  const Children children{kCurator + "0000000004", "lock-0000000005", kKazoo + "0000000003"};
  const auto decision = decide(children, "lock-0000000005");
  EXPECT_EQ(predecessor(decision), kCurator + "0000000004");
  EXPECT_EQ(decision.position, 2U);
}

TEST(Queue, CounterPastItsEnd_IsEarlierNotLater) {
  const Children children{"lock-2147483647", "lock--2147483648"};
  EXPECT_EQ(decide(children, "lock--2147483648").verdict, Verdict::first);
  EXPECT_EQ(predecessor(decide(children, "lock-2147483647")), "lock--2147483648");
}

TEST(Queue, EqualNumbers_TextDecides) {
  const std::string last = "2147483647";
  const Children children{"lock-" + last, kKazoo + last, kCurator + last};
  EXPECT_EQ(decide(children, kKazoo + last).verdict, Verdict::first);
  EXPECT_EQ(predecessor(decide(children, kCurator + last)), kKazoo + last);
  EXPECT_EQ(predecessor(decide(children, "lock-" + last)), kCurator + last);
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
TEST(Queue, HeavierByLessThanItsReach_Overtakes) {
  const Children children{"weight-1-age-2-0000000010", "weight-3-age-2-0000000013"};
  EXPECT_EQ(decide(children, children[1], QueueRule::weighted(3, 2)).verdict, Verdict::first);
  EXPECT_EQ(predecessor(decide(children, children[0], QueueRule::weighted(1, 2))), children[1]);
}

TEST(Queue, HeavierByExactlyItsReach_DoesNotOvertake) {
  const Children children{"weight-1-age-2-0000000010", "weight-3-age-2-0000000014"};
  EXPECT_EQ(decide(children, children[0], QueueRule::weighted(1, 2)).verdict, Verdict::first);
  EXPECT_EQ(predecessor(decide(children, children[1], QueueRule::weighted(3, 2))), children[0]);
}

// Returns the expected result of decide() the slow way. It sorts all contenders, and takes the
// predecessor.
Decision reference(const Children& children, const std::string& own) {
  std::vector<ZnodeName> queue;
  for (const auto& child : children) {
    if (const auto name = ZnodeName::parse(child)) queue.push_back(*name);
  }
  std::sort(queue.begin(), queue.end(), [](const ZnodeName& a, const ZnodeName& b) {
    return std::pair(a.sequence.value, a.text) < std::pair(b.sequence.value, b.text);
  });
  for (std::size_t i = 0; i < queue.size(); ++i) {
    if (queue[i].text != own) continue;
    Decision decision{.verdict = i == 0 ? Verdict::first : Verdict::behind, .position = i};
    if (i > 0) decision.watch.push_back(queue[i - 1].text);
    return decision;
  }
  return {};
}

Children random_children(std::mt19937& random) {
  const Children prefixes{"lock-",     kCurator, kGo,      kKazoo,   "lock--",
                          "__lock__-", "config", "lock-0", "lock-1", "lock-2"};
  const auto pick = [&](unsigned limit) { return static_cast<unsigned>(random() % limit); };
  // Use few numbers, so that many are equal; or many numbers, close to the end of the counter.
  const auto numbers = 1 + pick(40);
  const auto base = pick(3) == 0 ? 2'147'483'640U : 0U;
  std::set<std::string> names;
  const auto count = pick(60);
  for (unsigned i = 0; i < count; ++i) {
    auto number = std::to_string(base + pick(numbers));
    number.insert(0, 10 - number.size(), '0');
    names.insert(prefixes[pick(static_cast<unsigned>(prefixes.size()))] + number);
  }
  Children children(names.begin(), names.end());
  std::shuffle(children.begin(), children.end(), random);
  return children;
}

TEST(Queue, RandomLists_AgreeWithTheReference) {
  for (unsigned seed = 0; seed < 1000; ++seed) {
    std::mt19937 random(seed);
    const Children children = random_children(random);
    Children names = children;
    names.insert(names.end(), {"lock-0000000003", kCurator + "0000000003", "none"});
    for (const auto& own : names) {
      const Decision wanted = reference(children, own);
      const Decision got = decide(children, own);
      ASSERT_EQ(got.verdict, wanted.verdict) << "seed " << seed << ", " << own;
      ASSERT_EQ(predecessor(got), predecessor(wanted)) << "seed " << seed << ", " << own;
      ASSERT_EQ(got.position, wanted.position) << "seed " << seed << ", " << own;
    }
  }
}

TEST(Queue, RandomLists_FirstAndOneChainOfWatches) {
  for (unsigned seed = 0; seed < 200; ++seed) {
    std::mt19937 random(seed);
    const Children children = random_children(random);
    const auto queue = contenders(children);
    std::set<std::string> watched;
    int first = 0;
    for (const auto& name : queue) {
      const auto decision = decide(children, name.text);
      if (decision.verdict == Verdict::first) ++first;
      if (decision.verdict == Verdict::behind) {
        EXPECT_TRUE(watched.insert(predecessor(decision)).second) << "two watch one: a herd";
      }
    }
    EXPECT_EQ(first, queue.empty() ? 0 : 1) << "seed " << seed;
    EXPECT_EQ(watched.size(), queue.empty() ? 0 : queue.size() - 1);
  }
}

TEST(Queue, LongQueue_IsAccepted) {
  Children children;
  for (std::int32_t i = 0; i < 10'000; ++i)
    children.push_back(ZnodeName::make(kLockPrefix, {i}).text);
  std::shuffle(children.begin(), children.end(), std::mt19937(1));
  const auto decision = decide(children, "lock-0000009999");
  EXPECT_EQ(predecessor(decision), "lock-0000009998");
  EXPECT_EQ(decision.position, 9'999U);
}

}  // namespace
}  // namespace zklock::core
