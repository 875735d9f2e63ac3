// SPDX-License-Identifier: Apache-2.0
#include "zklock/cli/core/snapshot.h"

#include <algorithm>
#include <initializer_list>
#include <iterator>
#include <utility>

namespace zklock::cli {

namespace {

constexpr std::size_t kMostMarkPaths = 20;  ///< paths of a cycle that its mark names

bool has(const std::vector<Participant>& list, const Participant& contender) {
  return std::ranges::any_of(list, [&contender](const Participant& each) {
    return each.node == contender.node && each.token == contender.token;
  });
}

bool has(std::span<const SurveyedLock> locks, const WaitStep& step) {
  return std::ranges::any_of(locks, [&step](const SurveyedLock& lock) {
    const auto& blockers = step.blocker.holds ? lock.state.holders : lock.waiters;
    return lock.path == step.path && has(lock.waiters, step.waiter) && has(blockers, step.blocker);
  });
}

}  // namespace

bool is_below(std::string_view root, std::string_view path) noexcept {
  const auto starts_with = [path](std::string_view parent) {
    return path.starts_with(parent) && (path.size() == parent.size() || path[parent.size()] == '/');
  };
  if (root == "/") return path.starts_with('/') && !starts_with("/zookeeper");
  return starts_with(root);
}

void add_page(Snapshot& snapshot, SurveyPage page, std::size_t most_contenders) {
  for (SurveyedLock& lock : page.locks) {
    if (snapshot.contenders >= most_contenders) {
      for (auto* const list : {&lock.state.holders, &lock.waiters}) {
        if (list->size() > 1) *list = std::vector{std::move(list->front())};
      }
    }
    snapshot.contenders += lock.state.holders.size() + lock.waiters.size();
  }
  snapshot.visited += page.visited;
  std::ranges::move(page.locks, std::back_inserter(snapshot.locks));
  std::ranges::move(page.empty_znodes, std::back_inserter(snapshot.empty));
  std::ranges::move(page.unreadable, std::back_inserter(snapshot.unreadable));
  std::ranges::move(page.too_deep, std::back_inserter(snapshot.too_deep));
}

void complete(Snapshot& snapshot, std::vector<LockCycle> cycles) {
  std::ranges::sort(snapshot.locks, {}, &SurveyedLock::path);
  std::ranges::sort(snapshot.empty, {}, &EmptyZnode::path);
  std::ranges::sort(snapshot.unreadable);
  std::ranges::sort(snapshot.too_deep);
  snapshot.cycles = std::move(cycles);
  snapshot.marks = cycle_marks(snapshot.cycles);
}

std::set<std::string> paths_to_confirm(std::span<const LockCycle> cycles) {
  std::set<std::string> paths;
  for (const LockCycle& cycle : cycles) {
    const bool fits = paths.size() + cycle.steps.size() <= kMostConfirmedPaths;
    if (!cycle.is_certain || !fits) continue;
    for (const WaitStep& step : cycle.steps) paths.insert(step.path);
  }
  return paths;
}

std::vector<LockCycle> confirmed_cycles(std::vector<LockCycle> found,
                                        std::span<const SurveyedLock> second) {
  for (LockCycle& cycle : found) {
    cycle.is_certain =
        cycle.is_certain && std::ranges::all_of(cycle.steps, [second](const WaitStep& step) {
          return has(second, step);
        });
  }
  std::stable_partition(found.begin(), found.end(),
                        [](const LockCycle& cycle) { return cycle.is_certain; });
  return found;
}

CycleMarks cycle_marks(std::span<const LockCycle> cycles) {
  CycleMarks marks;
  for (const bool certain : {true, false}) {
    for (const LockCycle& cycle : cycles) {
      if (cycle.is_certain != certain) continue;
      const auto mark = std::make_shared<CycleMark>(CycleMark{.is_certain = certain, .paths = {}});
      for (const WaitStep& step : cycle.steps) {
        if (mark->paths.size() < kMostMarkPaths) mark->paths.push_back(step.path);
        marks.emplace(step.path, mark);
      }
    }
  }
  return marks;
}

const CycleMark* mark_of(const CycleMarks& marks, std::string_view path) {
  const auto mark = marks.find(path);
  return mark == marks.end() ? nullptr : mark->second.get();
}

SurveyTotals totals_of(const Snapshot& snapshot) {
  SurveyTotals totals{.locks = snapshot.locks.size()};
  for (const SurveyedLock& lock : snapshot.locks) {
    if (lock.state.holding > 0) ++totals.held;
    totals.waiting += lock.state.waiting;
  }
  for (const LockCycle& cycle : snapshot.cycles) {
    ++(cycle.is_certain ? totals.certain_cycles : totals.possible_cycles);
  }
  return totals;
}

}  // namespace zklock::cli
