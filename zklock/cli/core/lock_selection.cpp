// SPDX-License-Identifier: Apache-2.0
#include "zklock/cli/core/lock_selection.h"

#include <algorithm>
#include <array>
#include <chrono>
#include <functional>
#include <limits>
#include <utility>

namespace zklock::cli {

namespace {

using std::chrono::milliseconds;

bool passes(const SurveyedLock& lock, const RowFilter& filter, WallTime now) {
  if (filter.held_over && oldest_alert(lock, now) < filter.held_over) return false;
  return filter.host.empty() ||
         any_contender(lock, [&](const Participant& each) { return each.host == filter.host; });
}

}  // namespace

std::optional<RowOrder> row_order(std::string_view name) noexcept {
  constexpr std::array<std::string_view, 3> kNames{"path", "held", "waiting"};
  const auto found = std::ranges::find(kNames, name);
  if (found == kNames.end()) return std::nullopt;
  return static_cast<RowOrder>(found - kNames.begin());
}

void sort_rows(LockRows& rows, RowOrder order, WallTime now) {
  switch (order) {
    case RowOrder::path: break;
    case RowOrder::held:
      std::ranges::stable_sort(rows, std::ranges::greater(), [now](const SurveyedLock* lock) {
        const auto age = is_led(*lock) ? std::nullopt : oldest_alert(*lock, now);
        return std::pair(age, !lock->state.holders.empty());
      });
      break;
    case RowOrder::waiting:
      std::ranges::stable_sort(rows, std::ranges::greater(), [now](const SurveyedLock* lock) {
        return std::pair(lock->state.waiting, oldest_wait(*lock, now).value_or(milliseconds(0)));
      });
      break;
  }
}

LockRows lock_rows(std::span<const SurveyedLock> locks, const RowFilter& filter, RowOrder order,
                   WallTime now) {
  LockRows rows;
  for (const SurveyedLock& lock : locks) {
    if (passes(lock, filter, now)) rows.push_back(&lock);
  }
  sort_rows(rows, order, now);
  return rows;
}

LockRows most_important(const LockRows& rows, const CycleMarks& marks, std::size_t most,
                        WallTime now) {
  if (rows.size() <= most) return rows;
  using Ranked = std::pair<std::size_t, std::size_t>;  // the rank, and the position of the row
  std::vector<Ranked> ranked;
  for (std::size_t i = 0; i < rows.size(); ++i) {
    const CycleMark* const mark = mark_of(marks, rows[i]->path);
    const std::size_t none = std::numeric_limits<std::size_t>::max();
    ranked.emplace_back(mark == nullptr ? none : mark->is_certain ? 0 : 1, i);
  }
  // The longest ages have the ranks first, first + 2, and so on.
  const auto rank_by = [&](auto age_of, std::size_t first) {
    std::vector<std::pair<milliseconds, std::size_t>> ages;
    for (std::size_t i = 0; i < rows.size(); ++i) {
      const auto age = is_led(*rows[i]) ? std::nullopt : age_of(*rows[i], now);
      if (age) ages.emplace_back(-*age, i);
    }
    std::ranges::sort(ages);
    for (const auto& [age, i] : ages) {
      ranked[i].first = std::min(ranked[i].first, first);
      first += 2;
    }
  };
  rank_by(oldest_alert, 2);
  rank_by(oldest_wait, 3);
  const auto end = ranked.begin() + static_cast<std::ptrdiff_t>(most);
  std::ranges::partial_sort(ranked, end);
  ranked.erase(end, ranked.end());
  std::ranges::sort(ranked, {}, &Ranked::second);
  LockRows chosen;
  for (const Ranked& each : ranked) chosen.push_back(rows[each.second]);
  return chosen;
}

}  // namespace zklock::cli
