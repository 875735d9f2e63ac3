// SPDX-License-Identifier: Apache-2.0
#include "zklock/cli/core/findings.h"

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <initializer_list>
#include <set>
#include <span>

#include "zklock/cli/core/text.h"

namespace zklock::cli {

namespace {

constexpr std::int32_t kSequenceWarning = 1'000'000'000;
constexpr std::int32_t kSequenceFailure = 1'900'000'000;
constexpr std::size_t kMostNames = 5;   ///< names of children in one text
constexpr std::size_t kMostSteps = 20;  ///< of a cycle in one text

std::string join(std::span<const std::string> names) {
  std::string text;
  for (const auto& name : names.first(std::min(names.size(), kMostNames))) {
    text += (text.empty() ? "" : ", ") + name;
  }
  return names.size() > kMostNames ? text + ", ..." : text;
}

Finding cycle_finding(const LockCycle& cycle) {
  Finding found{.level = cycle.is_certain ? Level::failure : Level::warning,
                .kind = cycle.is_certain ? "certain_cycle" : "possible_cycle",
                .path = cycle.steps.empty() ? std::string() : cycle.steps.front().path,
                .text = cycle.is_certain ? "deadlock: " : "possible deadlock: ",
                .paths = {}};
  for (const WaitStep& step : cycle.steps) {
    if (found.paths.size() < kMostSteps) {
      if (!found.paths.empty()) found.text += "; ";
      found.text +=
          text_of(step.waiter) + " waits at " + step.path + " for " + text_of(step.blocker);
    }
    found.paths.push_back(step.path);
    found.participants.emplace_back(step.path, step.waiter);
    found.participants.emplace_back(step.path, step.blocker);
  }
  if (found.paths.size() > kMostSteps) {
    found.text += "; and " + counted(found.paths.size() - kMostSteps, "more wait");
  }
  if (!cycle.is_certain) {
    found.text += "; a deadline, or the release of a hold by another thread, may end it";
  }
  return found;
}

Finding finding_of(const SurveyedLock& lock, Level level, std::string_view kind, std::string text) {
  return {.level = level,
          .kind = kind,
          .path = lock.path,
          .text = std::move(text),
          .paths = {lock.path}};
}

void check_sequence(const SurveyedLock& lock, std::vector<Finding>& found) {
  if (lock.next_sequence >= 0 && lock.next_sequence < kSequenceWarning) return;
  // Past its end, the counter is negative.
  const bool fails = lock.next_sequence < 0 || lock.next_sequence >= kSequenceFailure;
  found.push_back(
      finding_of(lock, fails ? Level::failure : Level::warning, "sequence_wear",
                 "the next sequence number is " + std::to_string(lock.next_sequence) +
                     ", and the counter ends at 2147483647; delete the path when it is free"));
}

void check_hold(const SurveyedLock& lock, const std::optional<Duration>& held_over, WallTime now,
                std::vector<Finding>& found) {
  if (!held_over) return;
  for (const Participant& holder : lock.state.holders) {
    const auto held = alert_age(holder, now);
    if (!held || *held < *held_over) continue;
    const char* const known =
        holder.held_since ? " holds for " : " holds, and is in the queue for ";
    found.push_back(
        finding_of(lock, Level::warning, "held_long", text_of(holder) + known + text_of(*held)));
    found.back().participants = {{lock.path, holder}};
  }
}

/// Returns whether each contender surely waits for all others, by the rows of
/// the guide "From other lock libraries", "Sharing a path".
bool is_safe_combination(const SurveyedLock& lock, const std::set<Library>& libraries) {
  if (libraries.size() <= 1) return true;
  if (libraries.contains(Library::kazoo)) return false;
  const LockKind kind = kind_of(lock);
  if (kind == LockKind::shared) return !libraries.contains(Library::go_zookeeper);
  return kind == LockKind::mutex;
}

void check_libraries(const SurveyedLock& lock, std::vector<Finding>& found) {
  std::set<Library> libraries;
  for (const auto* list : {&lock.state.holders, &lock.waiters}) {
    for (const Participant& each : *list) libraries.insert(library_of(each));
  }
  if (is_safe_combination(lock, libraries)) return;
  std::string names;
  for (const Library each : libraries) {
    names += (names.empty() ? "" : ", ") + std::string(name_of(each));
  }
  std::string text = "contenders of " + names + " share the path, and may not wait for each other";
  if (libraries.contains(Library::kazoo)) {
    text += "; Kazoo's Lock needs extra_lock_patterns=[\"lock-\"]";
  }
  found.push_back(finding_of(lock, Level::warning, "mixed_libraries", std::move(text)));
}

void check_children(const SurveyedLock& lock, std::vector<Finding>& found) {
  if (lock.other_children.empty()) return;
  found.push_back(finding_of(lock, Level::warning, "other_children",
                             counted(lock.other_children_count,
                                     "child is no contender: ", "children are no contenders: ") +
                                 join(lock.other_children)));
}

void check_paths(const std::vector<std::string>& paths, Level level, std::string_view kind,
                 std::string_view one, std::string_view many, std::vector<Finding>& found) {
  if (paths.empty()) return;
  found.push_back({.level = level,
                   .kind = kind,
                   .path = paths.size() == 1 ? paths.front() : std::string(),
                   .text = counted(paths.size(), one, many) + join(paths),
                   .paths = paths});
}

/// A znode that was created a day ago was not removed as an empty container.
std::vector<std::string> old_empty_paths(const Snapshot& snapshot, WallTime now) {
  constexpr std::chrono::hours kDay{24};
  std::vector<std::string> paths;
  for (const EmptyZnode& each : snapshot.empty) {
    if (age(each.created, now) >= kDay) paths.push_back(each.path);
  }
  return paths;
}

}  // namespace

std::string_view name_of(Level level) noexcept {
  constexpr std::array<std::string_view, 4> kNames{"ok", "note", "warn", "fail"};
  return kNames.at(static_cast<std::size_t>(level));
}

int exit_code_of(Level worst, Level least) noexcept {
  if (worst < std::max(least, Level::warning)) return 0;
  return worst == Level::failure ? 2 : 1;
}

std::vector<Finding> findings(const Snapshot& snapshot, const std::optional<Duration>& held_over,
                              WallTime now) {
  std::vector<Finding> found;
  for (const LockCycle& cycle : snapshot.cycles) found.push_back(cycle_finding(cycle));
  for (const SurveyedLock& lock : snapshot.locks) {
    check_sequence(lock, found);
    check_hold(lock, held_over, now, found);
    check_libraries(lock, found);
    check_children(lock, found);
  }
  check_paths(snapshot.unreadable, Level::warning, "unreadable",
              "znode is not checked, no READ permission: ",
              "znodes are not checked, no READ permission: ", found);
  check_paths(snapshot.too_deep, Level::warning, "too_deep",
              "znode is not checked, too deep: ", "znodes are not checked, too deep: ", found);
  check_paths(old_empty_paths(snapshot, now), Level::notice, "empty",
              "empty znode is older than a day: ", "empty znodes are older than a day: ", found);
  std::ranges::stable_sort(found, std::ranges::greater(), &Finding::level);
  return found;
}

}  // namespace zklock::cli
