// SPDX-License-Identifier: Apache-2.0
#include "zklock/cli/core/json_text.h"

#include <algorithm>
#include <array>
#include <initializer_list>

#include <nlohmann/json.hpp>

namespace zklock::cli::json {

namespace {

using Json = nlohmann::ordered_json;

/// ASCII, one line. Invalid UTF-8 is replaced.
std::string dumped(const Json& value) {
  return value.dump(-1, ' ', true, Json::error_handler_t::replace);
}

std::int64_t ms(WallTime time) {
  return std::chrono::duration_cast<std::chrono::milliseconds>(time.time_since_epoch()).count();
}

Json text_or_null(std::string_view text) {
  return text.empty() ? Json() : Json(text);
}

template <class T>
Json value_or_null(const std::optional<T>& value) {
  return value ? Json(*value) : Json();
}

/// The names of the levels in the guide.
std::string_view id_of(Level level) {
  constexpr std::array<std::string_view, 4> kIds{"ok", "notice", "warning", "failure"};
  return kIds.at(static_cast<std::size_t>(level));
}

/// A number above 2^53 is no exact number in most programs. No process has such an id.
Json pid_or_null(std::int64_t pid) {
  constexpr std::int64_t kLargest = std::int64_t{1} << 53U;
  return pid > 0 && pid <= kLargest ? Json(pid) : Json();
}

std::string_view name_of(Access access) {
  constexpr std::array<std::string_view, 4> kNames{"exclusive", "shared", "permits", "weighted"};
  return kNames.at(static_cast<std::size_t>(access));
}

std::string_view id_of(Library library) {
  constexpr std::array<std::string_view, 5> kIds{"zklock", "curator", "go-zookeeper", "kazoo",
                                                 "unknown"};
  return kIds.at(static_cast<std::size_t>(library));
}

Json contender(const Participant& each) {
  return {{"node", each.node},
          {"sequence", each.sequence},
          {"access", name_of(each.access)},
          {"holds", each.holds},
          {"token", to_string(each.token)},
          {"session", session_text(each.session_id)},
          {"library", id_of(library_of(each))},
          {"since_ms", is_known(each.since) ? Json(ms(each.since)) : Json()},
          {"held_since_ms", each.held_since ? Json(ms(*each.held_since)) : Json()},
          {"owner", text_or_null(each.owner)},
          {"host", text_or_null(each.host)},
          {"pid", pid_or_null(each.pid)},
          {"application", text_or_null(each.application)},
          {"label", text_or_null(each.label)},
          {"thread", text_or_null(each.thread)},
          {"note", text_or_null(each.note)},
          {"permits", each.access == Access::permits ? Json(each.permits) : Json()},
          {"weight", each.access == Access::weighted ? Json(each.weight) : Json()},
          {"candidate", each.is_candidate},
          {"leader", leads(each)}};
}

Json contenders(const std::vector<Participant>& list) {
  Json all = Json::array();
  for (const Participant& each : list) all.push_back(contender(each));
  return all;
}

Json permits_of(const SurveyedLock& lock) {
  if (kind_of(lock) != LockKind::semaphore) return {};
  return {{"count", value_or_null(lock.permits)}, {"held", value_or_null(held_permits(lock))}};
}

Json fields_of(const SurveyedLock& lock, const CycleMark* cycle, Known known = Known::all) {
  const LockKind kind = kind_of(lock);
  Json fields{{"path", lock.path},
              {"kind", kind == LockKind::unknown ? Json() : Json(name_of(kind))},
              {"holders", contenders(lock.state.holders)},
              {"queue", contenders(lock.waiters)},
              {"holding", lock.state.holding},
              {"waiting", lock.state.waiting},
              {"holders_cut", lock.state.holding > lock.state.holders.size()},
              {"queue_cut", lock.state.waiting > lock.waiters.size()},
              {"permits", permits_of(lock)},
              {"delay", lock.is_delayed},
              {"delay_ms", lock.state.lock_delay ? Json(lock.state.lock_delay->count()) : Json()},
              {"foreign", {{"count", lock.other_children_count}, {"names", lock.other_children}}},
              {"next_sequence", lock.next_sequence},
              {"cycle", cycle == nullptr    ? "none"
                        : cycle->is_certain ? "certain"
                                            : "possible"},
              {"cycle_paths", cycle == nullptr ? Json::array() : Json(cycle->paths)}};
  const auto forget = [&fields](std::initializer_list<const char*> names) {
    for (const char* const name : names) fields[name] = nullptr;
  };
  if (known != Known::all) forget({"cycle", "cycle_paths"});
  if (known == Known::state) forget({"queue", "queue_cut", "permits", "foreign", "next_sequence"});
  return fields;
}

Json document_of(const SurveyedLock& lock, const CycleMark* cycle, WallTime as_of, Known known) {
  Json fields{{"schema", "zklock.lock/1"}};
  fields.update(fields_of(lock, cycle, known));
  fields["as_of_ms"] = ms(as_of);
  return fields;
}

Json list_fields(const char* schema, const Snapshot& snapshot) {
  return {{"schema", schema},
          {"root", snapshot.root},
          {"as_of_ms", ms(snapshot.as_of)},
          {"complete", snapshot.unread() == 0}};
}

/// Returns the begin of a document with a list of locks. The locks follow as texts, because values
/// of all of them would need several times the memory.
std::string list_head(const Json& fields) {
  std::string text = dumped(fields);
  text.back() = ',';
  return text + "\"locks\":[";
}

Json gaps_of(const LockHistory& history) {
  Json gaps = Json::array();
  for (const LockHistory::Gap& gap : history.gaps()) {
    gaps.push_back(Json::array({ms(gap.from), ms(gap.to)}));
  }
  return gaps;
}

void append_lock(std::string& list, const SurveyedLock& lock, const CycleMarks& marks) {
  if (list.back() != '[') list += ',';
  list += lock_fields(lock, mark_of(marks, lock.path));
}

}  // namespace

std::string lock_fields(const SurveyedLock& lock, const CycleMark* cycle) {
  return dumped(fields_of(lock, cycle));
}

std::string lock(const SurveyedLock& lock, const CycleMark* cycle, WallTime as_of, Known known) {
  return dumped(document_of(lock, cycle, as_of, known));
}

std::string locks(const Snapshot& snapshot) {
  std::string text = list_head(list_fields("zklock.locks/1", snapshot));
  for (const SurveyedLock& each : snapshot.locks) append_lock(text, each, snapshot.marks);
  return text + "]}";
}

std::string found_locks(const Snapshot& snapshot, const FoundLocks& found) {
  Json fields = list_fields("zklock.found/1", snapshot);
  fields["all"] = snapshot.locks.size();
  fields["matching"] = found.matching;
  fields["shown"] = found.locks.size();
  std::string text = list_head(fields);
  for (const SurveyedLock* const each : found.locks) {
    SurveyedLock cut = *each;
    cut.waiters.resize(std::min(cut.waiters.size(), kMostFoundWaiters));
    append_lock(text, cut, snapshot.marks);
  }
  return text + "]}";
}

std::string history(std::string_view root, std::string_view path, const LockHistory& history) {
  const LockPast past = history.past_of(path);
  Json spans = Json::array();
  for (const PastSpan& each : past.spans) {
    spans.push_back({{"kind", each.is_delay ? "lock_delay" : "hold"},
                     {"begin_ms", ms(each.begin)},
                     {"begin_exact", each.is_exact},
                     {"seen_ms", ms(each.seen)},
                     {"ended_ms", each.ended ? Json(ms(*each.ended)) : Json()},
                     {"most_waiting", each.most_waiting},
                     {"holder", each.is_delay ? Json() : contender(each.holder)}});
  }
  return dumped({{"schema", "zklock.history/1"},
                 {"root", root},
                 {"path", path},
                 {"as_of_ms", ms(history.as_of())},
                 {"since_ms", ms(past.since)},
                 {"gaps_ms", gaps_of(history)},
                 {"spans", spans}});
}

std::string finding(const Finding& finding) {
  Json participants = Json::array();
  for (const auto& [path, each] : finding.participants) {
    participants.push_back({{"path", path}});
    participants.back().update(contender(each));
  }
  return dumped({{"schema", "zklock.finding/1"},
                 {"level", id_of(finding.level)},
                 {"kind", finding.kind},
                 {"path", text_or_null(finding.path)},
                 {"text", finding.text},
                 {"locks", finding.paths},
                 {"participants", participants}});
}

std::string change(WallTime at, std::string_view kind, const SurveyedLock* lock) {
  return dumped(
      {{"schema", "zklock.change/1"},
       {"at_ms", ms(at)},
       {"kind", kind},
       {"lock", lock == nullptr ? Json() : document_of(*lock, nullptr, at, Known::state)}});
}

std::string release(std::string_view path, std::string_view node, std::string_view outcome,
                    std::chrono::milliseconds waited, std::size_t holding) {
  return dumped({{"schema", "zklock.release/1"},
                 {"path", path},
                 {"node", text_or_null(node)},
                 {"outcome", outcome},
                 {"waited_ms", waited.count()},
                 {"holding", holding}});
}

std::string hold(std::string_view path, std::string_view node, std::string_view token,
                 std::string_view kind, std::string_view note) {
  return dumped({{"schema", "zklock.hold/1"},
                 {"path", path},
                 {"node", node},
                 {"token", token},
                 {"kind", kind},
                 {"note", text_or_null(note)}});
}

std::string permits(std::string_view path, std::optional<int> count, std::int64_t held,
                    std::size_t waiting) {
  return dumped({{"schema", "zklock.permits/1"},
                 {"path", path},
                 {"count", value_or_null(count)},
                 {"held", held},
                 {"waiting", waiting}});
}

std::string doctor(Level level, std::string_view check, std::string_view text) {
  return dumped(
      {{"schema", "zklock.doctor/1"}, {"level", id_of(level)}, {"check", check}, {"text", text}});
}

std::string hello(std::string_view root, std::string_view version) {
  return dumped({{"schema", "zklock.live/1"}, {"root", root}, {"version", version}});
}

std::string pass(const Snapshot& snapshot, std::size_t shown, const LockHistory& history) {
  const SurveyTotals totals = totals_of(snapshot);
  Json fields{{"as_of_ms", ms(snapshot.as_of)},
              {"pass_ms", snapshot.duration.count()},
              {"locks", totals.locks},
              {"held", totals.held},
              {"waiting", totals.waiting},
              {"deadlocks", totals.certain_cycles},
              {"possible_deadlocks", totals.possible_cycles},
              {"shown", shown},
              {"unreadable", snapshot.unread()},
              {"history",
               {{"since_ms", ms(history.since())},
                {"gaps_ms", gaps_of(history)},
                {"most", history.bounds().spans},
                {"most_of_lock", history.bounds().spans_of_lock}}}};
  if (snapshot.as_of == WallTime()) fields["as_of_ms"] = fields["history"] = nullptr;
  return dumped(fields);
}

std::string beat(const Beat& beat, std::string_view pass) {
  std::string text = dumped({{"now_ms", ms(beat.now)},
                             {"interval_ms", beat.interval.count()},
                             {"held_over_ms", beat.held_over.count()},
                             {"waited_over_ms", beat.waited_over.count()},
                             {"connected", beat.connected},
                             {"error", text_or_null(beat.error)}});
  text.back() = ',';
  text += pass.substr(1);
  return text;
}

std::string live_lock(std::string fields, const LockPast& past, const LockHistory& history) {
  // Nothing changes while a hold lasts, so an unchanged lock keeps its text.
  fields.back() = ',';
  if (past.since > history.since()) {
    fields += "\"since_ms\":" + std::to_string(ms(past.since)) + ',';
  }
  fields += "\"past\":[";
  for (const PastSpan& each : past.spans) {
    if (fields.back() != '[') fields += ',';
    fields += '[' + std::to_string(ms(each.begin));
    const bool is_seen = !each.ended && each.seen >= history.as_of();
    fields += ',' + (is_seen ? "null" : std::to_string(ms(each.seen)));
    fields += ',' + (each.ended ? std::to_string(ms(*each.ended)) : "null");
    fields += each.is_delay ? ",1]" : ",0]";
  }
  return fields + "]}";
}

std::string live_change(std::string_view locks, std::string_view removed) {
  return "{\"locks\":[" + std::string(locks) + "],\"removed\":[" + std::string(removed) + "]}";
}

std::string quoted(std::string_view text) {
  return dumped(Json(text));
}

}  // namespace zklock::cli::json
