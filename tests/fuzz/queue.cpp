// SPDX-License-Identifier: Apache-2.0
// A list of children. The order of contenders is a strict order, holders never exclude each other,
// and each contender watches exactly the necessary ones ahead of it. The target has a second
// version of QueueRule's table and compares with it.
#include <algorithm>
#include <cstdint>
#include <limits>
#include <span>
#include <string>
#include <vector>

#include "tests/fuzz/children.h"
#include "tests/fuzz/target.h"
#include "zklock/core/lock_delay.h"
#include "zklock/core/queue_rule.h"

namespace zklock::fuzz {
namespace {

using namespace core;
using Verdict = Decision::Verdict;

constexpr std::size_t kMostChildren = 9;
constexpr std::size_t kMostCompared = 4;

/// Returns the rule of the contender that created this znode.
QueueRule rule_of(const ParsedZnodeName& it, std::int32_t all) {
  switch (it.access) {
    case Access::exclusive: return QueueRule::mutex();
    case Access::shared: return QueueRule::reader();
    case Access::permits:
      return QueueRule::permits(it.permits, it.named_total > 0 ? it.named_total : all,
                                it.named_total == 0);
    case Access::weighted: return QueueRule::weighted(it.weight, it.ageing);
  }
  return {};
}

bool is_weighted(const ParsedZnodeName& it) {
  return it.access == Access::weighted;
}

bool is_ahead(const ParsedZnodeName& a, const ParsedZnodeName& b) {
  if (is_weighted(a) != is_weighted(b)) return is_weighted(b);
  return is_weighted(a) ? precedes(a, b) : a.before(b);
}

/// Checks that `before` is a strict total order, on a prefix of the list to save time.
template <class Before>
void check_order(std::span<const ParsedZnodeName> all, Before before) {
  all = all.first(std::min(all.size(), kMostCompared));
  for (const ParsedZnodeName& a : all) {
    require(!before(a, a), "irreflexive");
    for (const ParsedZnodeName& b : all) {
      if (a.name != b.name) require(before(a, b) != before(b, a), "one of two comes first");
      if (!before(a, b)) continue;
      for (const ParsedZnodeName& c : all) {
        if (before(b, c)) require(before(a, c), "transitive");
      }
    }
  }
}

/// Returns how much of the room of `own` the contender `other`, which is ahead, takes.
std::int64_t taken_by(const ParsedZnodeName& other, const ParsedZnodeName& own) {
  constexpr std::int64_t kEverything = std::numeric_limits<std::int32_t>::max();
  if (own.access != Access::permits) {
    const bool read_together = own.access == Access::shared && other.access == Access::shared;
    return read_together ? 0 : 1;
  }
  const bool alike = other.access == Access::permits && other.named_total == own.named_total;
  return alike ? other.permits : kEverything;
}

std::int64_t room_for(const ParsedZnodeName& own, std::int32_t all) {
  if (own.access != Access::permits) return 0;
  return std::int64_t{own.named_total > 0 ? own.named_total : all} - own.permits;
}

void check_watches(const Decision& said, const ParsedZnodeName& own, std::int64_t room) {
  std::int64_t sum = 0;
  std::vector<std::int64_t> each;
  for (const std::string& name : said.watch) {
    const auto other = parse_znode_name(name);
    require(other && is_ahead(*other, own), "it watches those before it");
    each.push_back(taken_by(*other, own));
    sum += each.back();
  }
  require(sum > room, "those that it watches suffice to be in its way");
  for (const std::int64_t weight : each) require(sum - weight <= room, "and none too many");
  if (!said.grant_by_release) return;
  require(said.watch.size() == 1, "it follows one");
  require(parse_znode_name(said.watch.front())->access == Access::exclusive, "that held alone");
  require(own.access == Access::exclusive || own.access == Access::shared, "one at a time");
}

Verdict check_decision(const std::vector<std::string>& children,
                       const std::vector<ParsedZnodeName>& all_there, const ParsedZnodeName& own,
                       std::int32_t all) {
  const Decision said = decide(children, own.name, rule_of(own, all));
  const ParsedZnodeName* front = nullptr;  // the first of its kind
  std::size_t before = 0;
  std::int64_t taken = 0;
  for (const ParsedZnodeName& other : all_there) {
    if (other.access == own.access && (!front || other.before(*front))) front = &other;
    if (!is_ahead(other, own)) continue;
    ++before;
    taken += taken_by(other, own);
  }
  require(said.position == before, "its position is the number of contenders ahead");
  const bool agree = front->named_total == own.named_total && front->ageing == own.ageing;
  require((said.verdict == Verdict::mismatch) == !agree, "the first of its kind decides");
  if (!agree) return said.verdict;
  const std::int64_t room = room_for(own, all);
  const Verdict expected = taken <= room ? Verdict::first : Verdict::behind;
  require(said.verdict == expected, "a contender is first if the rule has room");
  if (expected == Verdict::behind) check_watches(said, own, room);
  return said.verdict;
}

/// Checks that these contenders may hold together.
void check_together(const std::vector<ParsedZnodeName>& holders, std::int32_t all) {
  std::int64_t permits = 0;
  for (const ParsedZnodeName& it : holders) {
    require(it.access == holders.front().access, "holders are of one kind");
    const bool alone = it.access == Access::exclusive || it.access == Access::weighted;
    require(!alone || holders.size() == 1, "it holds alone");
    permits += it.permits;
  }
  if (permits == 0) return;
  const std::int32_t named_total = holders.front().named_total;
  require(permits <= (named_total > 0 ? named_total : all), "no more permits than there are");
}

void check_orphans(const std::vector<std::string>& children,
                   const std::vector<ParsedZnodeName>& all_there) {
  const auto found = orphans(children);
  std::size_t expected = 0;
  for (const std::string& child : children) {
    const auto marker = DelayMarker::parse(child);
    if (!marker) continue;
    const bool there = std::ranges::any_of(all_there, [&](const ParsedZnodeName& it) {
      return it.sequence == marker->owner_sequence;
    });
    expected += there ? 0U : 1U;
    const bool listed =
        std::ranges::any_of(found, [&](const DelayMarker& orphan) { return orphan.name == child; });
    require(listed == !there, "an orphaned marker has no contender");
  }
  require(found.size() == expected, "no other orphans");
}

std::vector<ParsedZnodeName> first_of(const std::vector<std::string>& children,
                                      const std::vector<ParsedZnodeName>& there, std::int32_t all) {
  std::vector<ParsedZnodeName> first;
  for (const ParsedZnodeName& own : there) {
    if (check_decision(children, there, own, all) == Verdict::first) first.push_back(own);
  }
  return first;
}

/// Returns the queue without zklock's contenders whose sequence numbers are unusable: they
/// withdraw, wherever they are.
std::vector<ParsedZnodeName> first_of_those_that_stay(const std::vector<ParsedZnodeName>& there,
                                                      std::int32_t all) {
  std::vector<std::string> children;
  std::vector<ParsedZnodeName> staying;
  for (const ParsedZnodeName& it : there) {
    if (!is_usable(it.sequence) && it.is_of_zklock()) continue;
    children.emplace_back(it.name);
    staying.push_back(it);
  }
  return first_of(children, staying, all);
}

void check_list(const std::vector<std::string>& children, std::int32_t all) {
  std::vector<ParsedZnodeName> there;
  std::vector<ParsedZnodeName> weighted;
  for (const std::string& child : children) {
    const auto it = parse_znode_name(child);
    if (!it) {
      require(decide(children, child, QueueRule::mutex()).verdict == Verdict::vanished,
              "a name that is no contender is never granted");
      continue;
    }
    there.push_back(*it);
    if (is_weighted(*it)) weighted.push_back(*it);
  }
  check_order(there, [](const auto& a, const auto& b) { return a.before(b); });
  check_order(weighted, [](const auto& a, const auto& b) { return precedes(a, b); });
  check_orphans(children, there);

  check_together(first_of(children, there, all), all);

  const auto queue = contenders(children);
  require(queue.size() == there.size(), "all contenders, and they only");
  for (std::size_t i = 1; i < queue.size(); ++i) {
    require(is_ahead(*parse_znode_name(queue[i - 1].text), *parse_znode_name(queue[i].text)),
            "in their order");
  }
  const auto hold = holders(queue, all);
  std::size_t unweighted = 0;
  for (const ParsedZnodeName& it : first_of_those_that_stay(there, all)) {
    if (is_weighted(it)) continue;
    ++unweighted;
    require(std::ranges::any_of(hold, [&](const auto& name) { return name.text == it.name; }),
            "a contender that can be granted is a holder");
  }
  require(hold.size() == unweighted, "there is no other holder");
}

void check_absent(const std::vector<std::string>& children, const std::string& own,
                  std::int32_t all) {
  if (std::ranges::find(children, own) != children.end()) return;
  const auto it = parse_znode_name(own);
  const QueueRule rule = it ? rule_of(*it, all) : QueueRule::mutex();
  require(decide(children, own, rule).verdict == Verdict::vanished,
          "an absent contender is never granted");
}

}  // namespace
}  // namespace zklock::fuzz

int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace zklock::fuzz;
  Choices choices(data, size);
  const std::int32_t all = choose_count(choices);
  const auto children = choose_children(choices, kMostChildren);
  check_list(children, all);
  check_absent(children, choose_child(choices), all);
  return 0;
}
