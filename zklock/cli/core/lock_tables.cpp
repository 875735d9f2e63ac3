// SPDX-License-Identifier: Apache-2.0
#include "zklock/cli/core/lock_tables.h"

#include <algorithm>
#include <cstddef>

#include "zklock/cli/core/duration.h"
#include "zklock/cli/core/text.h"

namespace zklock::cli {

namespace {

/// Returns the holder without its note, which has a column of its own.
std::string holder_text(const SurveyedLock& lock) {
  if (lock.state.lock_delay) return "(" + delay_text(*lock.state.lock_delay) + ")";
  if (lock.state.holders.empty()) return "-";
  Participant first = lock.state.holders.front();
  first.note.clear();
  std::string text = text_of(first) + (leads(first) ? " leads" : "");
  if (lock.state.holding <= 1) return text;
  return text + " and " + std::to_string(lock.state.holding - 1) + " more";
}

/// Returns what a contender is: "mutex", "writer", "reader", "2 permits", "weight 5" or
/// "candidate".
std::string kind_text(const Participant& contender) {
  if (contender.is_candidate) return "candidate";
  switch (contender.access) {
    case Access::shared: return "reader";
    case Access::permits:
      return counted(static_cast<std::size_t>(std::max(contender.permits, 0)), "permit");
    case Access::weighted: return "weight " + std::to_string(contender.weight);
    case Access::exclusive: break;
  }
  return is_writer(contender) ? "writer" : "mutex";
}

/// Returns what holds the lock: "mutex", "writer", "readers", "permits 2 of 5", "priority" or
/// "leader".
std::string kind_text(const SurveyedLock& lock) {
  const auto& holders = lock.state.holders;
  if (!holders.empty() && leads(holders.front())) return "leader";
  const LockKind kind = cli::kind_of(lock);
  if (kind == LockKind::unknown) return "-";
  if (kind == LockKind::shared && !holders.empty()) {
    return is_writer(holders.front()) ? "writer" : "readers";
  }
  if (kind != LockKind::semaphore) return std::string(name_of(kind));
  const auto held = held_permits(lock);
  return "permits " + (held ? std::to_string(*held) : "?") + " of " +
         (lock.permits ? std::to_string(*lock.permits) : "?");
}

std::string mark_text(const CycleMark* mark) {
  if (mark == nullptr) return {};
  return mark->is_certain ? ", deadlock" : ", possible deadlock";
}

}  // namespace

std::string text_of(const std::optional<HoldAge>& held) {
  if (!held) return "?";
  return (held->is_exact ? "" : "<= ") + text_of(Duration(held->age));
}

Table lock_table(std::span<const SurveyedLock* const> locks, WallTime now,
                 const CycleMarks& marks) {
  Table table({"LOCK", "KIND", "HOLDER", "HELD", "WAITING", "NOTE"}, {0, 2, 5}, {5, 1});
  for (const SurveyedLock* const lock : locks) {
    const bool is_held = !lock->state.holders.empty();
    const CycleMark* const mark = mark_of(marks, lock->path);
    const bool warns = mark != nullptr || lock->is_delayed;
    table.add({lock->path, kind_text(*lock) + mark_text(mark), holder_text(*lock),
               is_held ? text_of(oldest_hold(*lock, now)) : "", std::to_string(lock->state.waiting),
               is_held ? lock->state.holders.front().note : ""},
              mark != nullptr && mark->is_certain ? Tint::alarm
              : warns                             ? Tint::warning
                                                  : Tint::plain);
  }
  return table;
}

Table contender_table(const SurveyedLock& lock, WallTime now) {
  Table table({"#", "STATE", "KIND", "CONTENDER", "FOR", "ZNODE", "TOKEN", "NOTE"}, {3, 7},
              {6, 5, 2, 7});
  std::size_t place = 0;
  const auto add = [&](const Participant& each, const char* state, const std::string& since) {
    Participant shown = each;
    shown.note.clear();
    table.add({std::to_string(place++), state, kind_text(each), text_of(shown), since, each.node,
               to_string(each.token), each.note},
              each.holds ? Tint::held : Tint::plain);
  };
  for (const Participant& each : lock.state.holders) {
    add(each, leads(each) ? "leads" : "holds", text_of(hold_age(each, now)));
  }
  place = lock.state.holding;
  for (const Participant& each : lock.waiters) {
    add(each, "waits", is_known(each.since) ? text_of(Duration(age(each.since, now))) : "?");
  }
  return table;
}

std::string rest_text(const SurveyedLock& lock) {
  const auto more = lock.state.waiting - std::min(lock.state.waiting, lock.waiters.size());
  std::string text = more == 0 ? std::string() : "and " + counted(more, "more waits", "more wait");
  if (lock.state.lock_delay) {
    text += (text.empty() ? "" : "; ") + delay_text(*lock.state.lock_delay) +
            " after a lost hold, from when a contender waits";
  }
  return text;
}

}  // namespace zklock::cli
