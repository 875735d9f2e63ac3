// SPDX-License-Identifier: Apache-2.0
#include "zklock/cli/core/lock_rows.h"

#include <algorithm>
#include <functional>
#include <limits>
#include <numeric>
#include <string_view>
#include <utility>

namespace zklock::cli {

namespace {

using std::chrono::milliseconds;

template <class Predicate>
bool has_contender(const SurveyedLock& lock, Predicate matches) {
  return std::ranges::any_of(lock.state.holders, matches) ||
         std::ranges::any_of(lock.waiters, matches);
}

bool contains(std::string_view text, std::string_view part) {
  return text.find(part) != std::string_view::npos;
}

bool passes(const SurveyedLock& lock, const RowFilter& filter, WallTime now) {
  if (filter.held_over && oldest_alert(lock, now) < filter.held_over) return false;
  const bool is_of_host = filter.host.empty() || has_contender(lock, [&](const Participant& each) {
                            return each.host == filter.host;
                          });
  if (!is_of_host) return false;
  return contains(lock.path, filter.text) || has_contender(lock, [&](const Participant& each) {
           return contains(each.host, filter.text) || contains(each.application, filter.text) ||
                  contains(each.note, filter.text);
         });
}

using std::chrono::milliseconds;

}  // namespace

std::vector<const SurveyedLock*> lock_rows(std::span<const SurveyedLock> locks,
                                           const RowFilter& filter, RowOrder order, WallTime now) {
  std::vector<const SurveyedLock*> rows;
  for (const SurveyedLock& lock : locks) {
    if (passes(lock, filter, now)) rows.push_back(&lock);
  }
  sort_rows(rows, order, now);
  return rows;
}

void sort_rows(std::vector<const SurveyedLock*>& rows, RowOrder order, WallTime now) {
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

std::vector<std::size_t> all_positions(std::size_t count) {
  std::vector<std::size_t> positions(count);
  std::iota(positions.begin(), positions.end(), std::size_t{0});
  return positions;
}

std::vector<std::size_t> most_important(std::span<const SurveyedLock> locks,
                                        const CycleMarks& marks,
                                        std::vector<std::size_t> candidates, std::size_t most,
                                        WallTime now) {
  if (candidates.size() <= most) return candidates;
  std::vector<std::size_t> ranks(locks.size(), std::numeric_limits<std::size_t>::max());
  // The longest ages have the ranks first, first + 2, and so on.
  const auto rank_by = [&](auto age_of, std::size_t first) {
    std::vector<std::pair<milliseconds, std::size_t>> ages;
    for (const std::size_t position : candidates) {
      const auto age = is_led(locks[position]) ? std::nullopt : age_of(locks[position], now);
      if (age) ages.emplace_back(-*age, position);
    }
    std::ranges::sort(ages);
    for (const auto& [age, position] : ages) {
      ranks[position] = std::min(ranks[position], first);
      first += 2;
    }
  };
  rank_by(oldest_alert, 2);
  rank_by(oldest_wait, 3);
  for (const std::size_t position : candidates) {
    const CycleMark* const mark = mark_of(marks, locks[position].path);
    if (mark != nullptr) ranks[position] = mark->is_certain ? 0 : 1;
  }
  const auto end = candidates.begin() + static_cast<std::ptrdiff_t>(most);
  std::ranges::partial_sort(candidates, end, {}, [&ranks](std::size_t position) {
    return std::pair(ranks[position], position);
  });
  candidates.erase(end, candidates.end());
  std::ranges::sort(candidates);
  return candidates;
}

}  // namespace zklock::cli
