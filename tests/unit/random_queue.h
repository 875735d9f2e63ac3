// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <cstdint>
#include <limits>
#include <optional>
#include <random>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "zklock/core/queue_rule.h"

namespace zklock::core {

using Children = std::vector<std::string>;

inline constexpr std::int64_t kEverything = std::numeric_limits<std::int32_t>::max();

inline std::string numbered(const std::string& prefix, int sequence) {
  return ZnodeName::make(prefix, {sequence}).text;
}

/// A contender that the test made. Its fields are not parsed by the code under test.
struct Contender {
  std::string name;
  Access access;
  std::int32_t wanted = 0;
  std::int32_t named_total = 0;
};

/// Returns the weight that the table in queue_rule.h gives to `other` under `rule`.
inline std::int64_t weighs(const Contender& other, const QueueRule& rule) {
  if (rule.access == Access::exclusive) return 1;
  if (rule.access == Access::shared) return other.access == Access::shared ? 0 : 1;
  const bool agrees = other.access == Access::permits && other.named_total == rule.named_total;
  return agrees ? other.wanted : kEverything;
}

/// Returns whether a contender of that rule, behind `before`, can be granted.
inline bool grantable(const std::vector<Contender>& before, const QueueRule& rule) {
  std::int64_t taken = 0;
  for (const Contender& each : before) taken += weighs(each, rule);
  if (rule.access != Access::permits) return taken == 0;
  return rule.wanted <= rule.total && taken <= rule.total - rule.wanted;
}

inline std::optional<std::int32_t> agreed(const std::vector<Contender>& before) {
  for (const Contender& each : before) {
    if (each.access == Access::permits) return each.named_total;
  }
  return std::nullopt;
}

inline QueueRule rule_of(const Contender& own, std::int32_t all_of_shared) {
  switch (own.access) {
    case Access::exclusive: return QueueRule::writer();
    case Access::shared: return QueueRule::reader();
    case Access::permits:
    case Access::weighted: break;
  }
  return QueueRule::permits(own.wanted, own.named_total > 0 ? own.named_total : all_of_shared,
                            own.named_total == 0);
}

/// The kinds of contenders at a path.
enum class Mix { writers, both, permits_of_3, permits_of_5, shared_permits, numbers, all };

inline constexpr Mix kAllMixes[] = {Mix::writers,      Mix::both,           Mix::permits_of_3,
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
  Contender permits(int sequence, int named_total) {
    // With a shared count, a contender can request more permits than there are.
    const int wanted = 1 + below(named_total > 0 ? named_total : 6);
    return {numbered(permits_prefix(wanted, named_total), sequence), Access::permits, wanted,
            named_total};
  }
  Contender exclusive(int sequence) {
    static const Children kPrefixes{"lock-", "__WRIT__",
                                    "_c_8a7d6c1e-0f3b-4a2f-9d55-3f2a2b1c0d9e-lock-",
                                    "_c_8a7d6c1e-0f3b-4a2f-9d55-3f2a2b1c0d9e-__WRIT__",
                                    "8a7d6c1e0f3b4a2f9d553f2a2b1c0d9e__lock__"};
    return {numbered(kPrefixes[static_cast<std::size_t>(below(5))], sequence), Access::exclusive};
  }
  Contender reader(int sequence) {
    static const Children kPrefixes{"__READ__", "_c_8a7d6c1e-0f3b-4a2f-9d55-3f2a2b1c0d9e-__READ__",
                                    "8a7d6c1e0f3b4a2f9d553f2a2b1c0d9e__rlock__"};
    return {numbered(kPrefixes[static_cast<std::size_t>(below(3))], sequence), Access::shared};
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

}  // namespace zklock::core
