// SPDX-License-Identifier: Apache-2.0
#include "zklock/cli/core/lock_rows.h"

#include <algorithm>
#include <functional>
#include <iterator>
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

/// A lock with one of its ages.
struct Ranked {
  milliseconds age{0};
  std::size_t position = 0;
};

bool precedes(const Ranked& a, const Ranked& b) {
  return a.age != b.age ? a.age > b.age : a.position < b.position;
}

/// Sorts the first `most` of the list, and drops the others.
void keep_first(std::vector<Ranked>& list, std::size_t most) {
  const auto end =
      std::next(list.begin(), static_cast<std::ptrdiff_t>(std::min(most, list.size())));
  std::partial_sort(list.begin(), end, list.end(), precedes);
  list.erase(end, list.end());
}

/// Collects positions up to a limit, each once.
class Choice {
 public:
  Choice(std::size_t count, std::size_t most) : is_taken_(count), most_(most) {}

  void take(std::size_t position) {
    if (is_full() || is_taken_[position]) return;
    is_taken_[position] = true;
    taken_.push_back(position);
  }
  bool is_full() const noexcept { return taken_.size() == most_; }
  std::vector<std::size_t> sorted() && {
    std::ranges::sort(taken_);
    return std::move(taken_);
  }

 private:
  std::vector<bool> is_taken_;
  std::vector<std::size_t> taken_;
  const std::size_t most_;
};

void take_in_turns(Choice& choice, const std::vector<Ranked>& holds,
                   const std::vector<Ranked>& waits) {
  for (std::size_t i = 0; i < std::max(holds.size(), waits.size()); ++i) {
    if (i < holds.size()) choice.take(holds[i].position);
    if (i < waits.size()) choice.take(waits[i].position);
  }
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
  Choice choice(locks.size(), most);
  for (const bool certain : {true, false}) {
    if (marks.empty()) break;
    for (const std::size_t position : candidates) {
      const CycleMark* const mark = mark_of(marks, locks[position].path);
      if (mark != nullptr && mark->is_certain == certain) choice.take(position);
    }
  }
  std::vector<Ranked> holds;
  std::vector<Ranked> waits;
  for (const std::size_t position : candidates) {
    const SurveyedLock& lock = locks[position];
    if (is_led(lock)) continue;
    if (const auto age = oldest_alert(lock, now)) holds.push_back({*age, position});
    if (const auto age = oldest_wait(lock, now)) waits.push_back({*age, position});
  }
  keep_first(holds, most);
  keep_first(waits, most);
  take_in_turns(choice, holds, waits);
  for (const std::size_t position : candidates) choice.take(position);
  return std::move(choice).sorted();
}

}  // namespace zklock::cli
