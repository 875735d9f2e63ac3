// SPDX-License-Identifier: Apache-2.0
#include "zklock/cli/core/lock_tables.h"

#include <algorithm>
#include <cstddef>

#include "zklock/cli/core/duration.h"

namespace zklock::cli {

namespace {

/// Returns the holder without its note, which has a column of its own.
std::string holder_text(const SurveyedLock& lock) {
  if (lock.state.holders.empty()) return lock.is_delayed ? "(lock delay)" : "-";
  Participant first = lock.state.holders.front();
  first.note.clear();
  std::string text = text_of(first) + (leads(first) ? " leads" : "");
  if (lock.state.holding <= 1) return text;
  return text + " and " + std::to_string(lock.state.holding - 1) + " more";
}

}  // namespace

std::string text_of(const std::optional<HoldAge>& held) {
  if (!held) return "?";
  return (held->is_exact ? "" : "<= ") + text_of(Duration(held->age));
}

Table lock_table(std::span<const SurveyedLock* const> locks, WallTime now) {
  Table table({"LOCK", "HOLDER", "HELD", "WAITING", "NOTE"}, {0, 1, 4});
  for (const SurveyedLock* const lock : locks) {
    const bool is_held = !lock->state.holders.empty();
    table.add({lock->path, holder_text(*lock), is_held ? text_of(oldest_hold(*lock, now)) : "",
               std::to_string(lock->state.waiting),
               is_held ? lock->state.holders.front().note : ""});
  }
  return table;
}

Table contender_table(const SurveyedLock& lock, WallTime now) {
  Table table({"#", "STATE", "CONTENDER", "SINCE", "ZNODE", "TOKEN", "NOTE"}, {2, 6});
  std::size_t place = 0;
  const auto add = [&](const Participant& each, const char* state, const std::string& since) {
    Participant shown = each;
    shown.note.clear();
    table.add({std::to_string(place++), state, text_of(shown), since, each.node,
               to_string(each.token), each.note});
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
  return more == 0 ? std::string() : "and " + std::to_string(more) + " more wait";
}

}  // namespace zklock::cli
