// SPDX-License-Identifier: Apache-2.0
#include "zklock/core/queue.h"

#include <algorithm>
#include <limits>
#include <optional>
#include <utility>

namespace zklock::core {
namespace {

struct Rival {
  Contention place;
  std::int64_t weight;  // never above 32 bits: sums fit
};

bool stands_before(const Contention& other, const Contention& own) noexcept {
  const bool one_queue = (other.access == Access::weighted) == (own.access == Access::weighted);
  if (!one_queue) return own.access == Access::weighted;
  return own.access == Access::weighted ? precedes(other, own) : other.before(own);
}

/// How much of the room `other`, standing before, takes from a contender of that rule.
std::int64_t weight_of(const Contention& other, const QueueRule& rule) noexcept {
  switch (rule.access) {
    case Access::weighted:
    case Access::exclusive: return 1;
    case Access::shared: return other.access == Access::shared ? 0 : 1;
    case Access::permits:
      return other.access == Access::permits ? other.permits
                                             : std::numeric_limits<std::int32_t>::max();
  }
  return 1;
}

std::int64_t room_of(const QueueRule& rule) noexcept {
  return rule.access == Access::permits ? std::int64_t{rule.all} - rule.wanted : 0;
}

/// The number that both should agree on, where they do not.
std::optional<std::int32_t> at_odds(const Contention& other, const QueueRule& rule) noexcept {
  if (other.access != rule.access) return std::nullopt;
  if (rule.access == Access::permits && other.of != rule.of) return other.of;
  if (rule.access == Access::weighted && other.ageing != rule.ageing) return other.ageing;
  return std::nullopt;
}

}  // namespace

QueueRule QueueRule::permits(std::int32_t wanted, std::int32_t all, bool shared) {
  const std::int32_t of = shared ? 0 : all;
  return {.access = Access::permits,
          .prefix = permits_prefix(wanted, of),
          .wanted = wanted,
          .all = all,
          .of = of};
}

QueueRule QueueRule::weighted(std::int32_t weight, std::int32_t ageing) {
  return {.access = Access::weighted,
          .prefix = weight_prefix(weight, ageing),
          .weight = weight,
          .ageing = ageing};
}

bool precedes(const Contention& a, const Contention& b) noexcept {
  constexpr std::int64_t beyond_all_places = std::int64_t{1} << 33;
  const auto place = [](const Contention& each) {
    const std::int64_t advance = each.ageing > 0 ? each.ageing : beyond_all_places;
    return std::int64_t{each.sequence.value} - each.weight * advance;
  };
  if (place(a) != place(b)) return place(a) < place(b);
  return a.before(b);
}

Decision decide(std::span<const std::string> children, std::string_view own,
                const QueueRule& rule) {
  const auto own_place = parse_contention(own);
  if (!own_place) return {};

  Decision decision;
  bool seen = false;
  std::vector<Rival> rivals;
  std::int64_t taken = 0;
  for (const std::string& child : children) {
    seen = seen || child == own;
    const auto other = parse_contention(child);
    if (!other) continue;
    // Of two that disagree one is to give way, whatever order each of them sees.
    if (const auto rival = at_odds(*other, rule); rival && other->before(*own_place)) {
      decision.verdict = Decision::Verdict::at_odds;
      decision.rival = *rival;
    }
    if (!stands_before(*other, *own_place)) continue;
    ++decision.position;
    const std::int64_t weight = weight_of(*other, rule);
    taken += weight;
    if (weight > 0) rivals.push_back({*other, weight});
  }

  if (!seen) return {};
  if (decision.verdict == Decision::Verdict::at_odds) return decision;
  const std::int64_t room = room_of(rule);
  if (taken <= room) {
    decision.verdict = Decision::Verdict::first;
    return decision;
  }
  decision.verdict = Decision::Verdict::behind;
  // Nearest first: they are the last to go, so they wake this contender least often in vain.
  std::ranges::sort(rivals,
                    [](const Rival& a, const Rival& b) { return stands_before(b.place, a.place); });
  const bool one_at_a_time = rule.access == Access::exclusive || rule.access == Access::shared;
  decision.follows_release =
      one_at_a_time && !rivals.empty() && rivals.front().place.access == Access::exclusive;
  std::int64_t watched = 0;
  for (const Rival& rival : rivals) {
    if (watched > room) break;
    watched += rival.weight;
    decision.watch.emplace_back(rival.place.name);
  }
  return decision;
}

bool Holders::next_holds(const Contention& next) {
  switch (next.access) {
    case Access::weighted: return false;
    case Access::exclusive: return exclusive_++ + shared_ == 0 && permits_ == 0;
    case Access::shared: ++shared_; return exclusive_ == 0 && permits_ == 0;
    case Access::permits:
      permits_ += next.permits;
      return exclusive_ + shared_ == 0 && permits_ <= (next.of > 0 ? next.of : all_);
  }
  return false;
}

std::vector<NodeName> contenders(std::span<const std::string> children) {
  std::vector<NodeName> result;
  result.reserve(children.size());
  for (const std::string& child : children) {
    if (auto name = NodeName::parse(child)) result.push_back(std::move(*name));
  }
  std::ranges::sort(result, {}, [](const NodeName& name) {
    return std::pair(name.sequence, std::string_view(name.text));
  });
  return result;
}

}  // namespace zklock::core
