// SPDX-License-Identifier: Apache-2.0
#include "zklock/cli/core/lock_rows.h"

#include <algorithm>
#include <functional>
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

}  // namespace zklock::cli
