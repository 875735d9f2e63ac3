// SPDX-License-Identifier: Apache-2.0
#include "zklock/core/queue_rule.h"

#include <algorithm>
#include <iterator>
#include <limits>
#include <optional>

namespace zklock::core {
namespace {

struct Rival {
  ParsedZnodeName contender;
  std::int64_t load;  // at most 32 bits, so sums fit
};

bool is_ahead(const ParsedZnodeName& other, const ParsedZnodeName& own) noexcept {
  const bool one_queue = (other.access == Access::weighted) == (own.access == Access::weighted);
  if (!one_queue) return own.access == Access::weighted;
  return own.access == Access::weighted ? precedes(other, own) : other.before(own);
}

/// Returns the load of `other`, which is ahead, for a contender with `rule`; see QueueRule.
std::int64_t load_of(const ParsedZnodeName& other, const QueueRule& rule) noexcept {
  constexpr std::int64_t kEverything = std::numeric_limits<std::int32_t>::max();
  switch (rule.access) {
    case Access::weighted:
    case Access::exclusive: return 1;
    case Access::shared: return other.access == Access::shared ? 0 : 1;
    case Access::permits:
      if (other.access != Access::permits || other.named_total != rule.named_total)
        return kEverything;
      return other.permits;
  }
  return kEverything;
}

std::int64_t room_of(const QueueRule& rule) noexcept {
  return rule.access == Access::permits ? std::int64_t{rule.total} - rule.wanted : 0;
}

/// Returns the setting that contenders of one kind of access must agree on; 0: none.
std::int32_t agreed(Access access, std::int32_t named_total, std::int32_t ageing) noexcept {
  switch (access) {
    case Access::permits: return named_total;
    case Access::weighted: return ageing;
    case Access::exclusive:
    case Access::shared: return 0;
  }
  return 0;
}

/// Returns the nearest of `rivals` whose loads together exceed `room`, without redundant ones.
/// REQUIRES: the nearest rival comes first.
std::vector<std::string> enough_of(const std::vector<Rival>& rivals, std::int64_t room) {
  std::size_t count = 0;
  std::int64_t taken = 0;
  while (taken <= room && count < rivals.size()) taken += rivals[count++].load;
  // The last one is needed. But its load may be so high that some nearer ones are not.
  std::int64_t spare = taken - room - 1;
  std::vector<std::string> names;
  for (std::size_t i = count; i-- > 0;) {
    if (rivals[i].load <= spare) {
      spare -= rivals[i].load;
    } else {
      names.emplace_back(rivals[i].contender.name);
    }
  }
  std::ranges::reverse(names);
  return names;
}

}  // namespace

QueueRule QueueRule::permits(std::int32_t wanted, std::int32_t total, bool shared) noexcept {
  const std::int32_t named_total = shared ? 0 : total;
  return {.access = Access::permits, .wanted = wanted, .total = total, .named_total = named_total};
}

QueueRule QueueRule::weighted(std::int32_t weight, std::int32_t ageing) noexcept {
  return {.access = Access::weighted, .weight = weight, .ageing = ageing};
}

std::string QueueRule::prefix() const {
  switch (access) {
    case Access::exclusive: return std::string(is_write_lock ? kWritePrefix : kLockPrefix);
    case Access::shared: return std::string(kReadPrefix);
    case Access::permits: return permits_prefix(wanted, named_total);
    case Access::weighted: return weight_prefix(weight, ageing);
  }
  return {};
}

bool precedes(const ParsedZnodeName& a, const ParsedZnodeName& b) noexcept {
  constexpr std::int64_t kBeyondAllSequences = std::int64_t{1} << 33;
  const auto rank = [](const ParsedZnodeName& each) {
    const std::int64_t advance = each.ageing > 0 ? each.ageing : kBeyondAllSequences;
    return std::int64_t{each.sequence.value} - each.weight * advance;
  };
  if (rank(a) != rank(b)) return rank(a) < rank(b);
  return a.before(b);
}

Decision decide(std::span<const std::string> children, std::string_view own,
                const QueueRule& rule) {
  const auto own_name = parse_znode_name(own);
  if (!own_name) return {};

  Decision decision;
  bool seen = false;
  std::vector<Rival> rivals;
  std::int64_t taken = 0;
  std::optional<ParsedZnodeName> front;  // the first with this kind of access
  for (const std::string& child : children) {
    seen = seen || child == own;
    const auto other = parse_znode_name(child);
    if (!other) continue;
    if (other->access == rule.access && other->before(*own_name) &&
        (!front || other->before(*front))) {
      front = other;
    }
    if (!is_ahead(*other, *own_name)) continue;
    ++decision.position;
    const std::int64_t load = load_of(*other, rule);
    taken += load;
    if (load > 0) rivals.push_back({*other, load});
  }

  if (!seen) return {};
  const auto ours = agreed(rule.access, rule.named_total, rule.ageing);
  const auto theirs = front ? agreed(front->access, front->named_total, front->ageing) : ours;
  if (theirs != ours) {
    decision.verdict = Decision::Verdict::mismatch;
    decision.other_setting = theirs;
    return decision;
  }
  const std::int64_t room = room_of(rule);
  if (taken <= room) {
    decision.verdict = Decision::Verdict::first;
    return decision;
  }
  decision.verdict = Decision::Verdict::behind;
  // Nearest first: they will be deleted last, so their events are seldom too early for a grant.
  std::ranges::sort(
      rivals, [](const Rival& a, const Rival& b) { return is_ahead(b.contender, a.contender); });
  const bool one_at_a_time = rule.access == Access::exclusive || rule.access == Access::shared;
  decision.grant_by_release =
      one_at_a_time && !rivals.empty() && rivals.front().contender.access == Access::exclusive;
  decision.watch = enough_of(rivals, room);
  return decision;
}

bool Holders::add(const ParsedZnodeName& next) {
  // A zklock contender with an unusable number never holds: it deletes its znode.
  if (!is_usable(next.sequence) && next.is_of_zklock()) return false;
  switch (next.access) {
    case Access::weighted: return false;
    case Access::exclusive: return exclusive_++ + shared_ == 0 && permits_ == 0;
    case Access::shared: ++shared_; return exclusive_ == 0 && permits_ == 0;
    case Access::permits:
      if (permits_ == 0) agreed_total_ = next.named_total;
      permits_ += next.permits;
      mismatched_ = mismatched_ || next.named_total != agreed_total_;
      return !mismatched_ && exclusive_ + shared_ == 0 &&
             permits_ <= (agreed_total_ > 0 ? agreed_total_ : total_permits_);
  }
  return false;
}

std::vector<ZnodeName> contenders(std::span<const std::string> children) {
  std::vector<ParsedZnodeName> all;
  all.reserve(children.size());
  for (const std::string& child : children) {
    if (const auto name = parse_znode_name(child)) all.push_back(*name);
  }
  std::ranges::sort(all, is_ahead);
  std::vector<ZnodeName> result;
  result.reserve(all.size());
  for (const ParsedZnodeName& name : all) {
    result.push_back({std::string(name.name), name.sequence});
  }
  return result;
}

std::vector<ZnodeName> holders(std::span<const ZnodeName> queue, std::int32_t total_permits) {
  Holders rule(total_permits);
  std::vector<ZnodeName> result;
  std::ranges::copy_if(queue, std::back_inserter(result), [&](const ZnodeName& name) {
    return rule.add(*parse_znode_name(name.text));
  });
  return result;
}

}  // namespace zklock::core
