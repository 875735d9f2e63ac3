// SPDX-License-Identifier: Apache-2.0
#include "zklock/cli/core/json_text.h"

#include <algorithm>
#include <cstdint>
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

Json text_or_null(const std::string& text) {
  return text.empty() ? Json() : Json(text);
}

template <class T>
Json value_or_null(const std::optional<T>& value) {
  return value ? Json(*value) : Json();
}

/// The names of the levels in the guide.
std::string_view id_of(Level level) {
  switch (level) {
    case Level::ok: return "ok";
    case Level::notice: return "notice";
    case Level::warning: return "warning";
    case Level::failure: return "failure";
  }
  return "failure";
}

/// A number above 2^53 is no exact number in most programs. No process has such an id.
Json pid_or_null(std::int64_t pid) {
  constexpr std::int64_t kLargest = std::int64_t{1} << 53U;
  return pid > 0 && pid <= kLargest ? Json(pid) : Json();
}

std::string_view name_of(Access access) {
  switch (access) {
    case Access::exclusive: return "exclusive";
    case Access::shared: return "shared";
    case Access::permits: return "permits";
    case Access::weighted: return "weighted";
  }
  return "exclusive";
}

std::string_view id_of(Library library) {
  switch (library) {
    case Library::zklock: return "zklock";
    case Library::curator: return "curator";
    case Library::go_zookeeper: return "go-zookeeper";
    case Library::kazoo: return "kazoo";
    case Library::unknown: break;
  }
  return "unknown";
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

bool are_holders_cut(const SurveyedLock& lock) {
  return lock.state.holding > lock.state.holders.size();
}

Json permits_of(const SurveyedLock& lock) {
  if (kind_of(lock) != LockKind::semaphore) return {};
  Json fields = Json::object();
  fields["count"] = value_or_null(lock.permits);
  fields["held"] = value_or_null(held_permits(lock));
  return fields;
}

Json fields_of(const SurveyedLock& lock, const CycleMark* cycle, Known known = Known::all) {
  Json fields = Json::object();
  const LockKind kind = kind_of(lock);
  fields["path"] = lock.path;
  fields["kind"] = kind == LockKind::unknown ? Json() : Json(name_of(kind));
  fields["holders"] = contenders(lock.state.holders);
  fields["queue"] = contenders(lock.waiters);
  fields["holding"] = lock.state.holding;
  fields["waiting"] = lock.state.waiting;
  fields["holders_cut"] = are_holders_cut(lock);
  fields["queue_cut"] = lock.state.waiting > lock.waiters.size();
  fields["permits"] = permits_of(lock);
  fields["delay"] = lock.is_delayed;
  fields["delay_ms"] = lock.state.lock_delay ? Json(lock.state.lock_delay->count()) : Json();
  fields["foreign"]["count"] = lock.other_children_count;
  fields["foreign"]["names"] = lock.other_children;
  fields["next_sequence"] = lock.next_sequence;
  fields["cycle"] = cycle == nullptr ? "none" : cycle->is_certain ? "certain" : "possible";
  fields["cycle_paths"] = cycle == nullptr ? Json::array() : Json(cycle->paths);
  if (known == Known::all) return fields;
  for (const char* const name : {"cycle", "cycle_paths"}) fields[name] = nullptr;
  if (known == Known::one_lock) return fields;
  for (const char* const name : {"queue", "queue_cut", "permits", "foreign", "next_sequence"}) {
    fields[name] = nullptr;
  }
  return fields;
}

Json with_schema(const char* schema) {
  Json fields = Json::object();
  fields["schema"] = schema;
  return fields;
}

Json list_fields(const char* schema, const Snapshot& snapshot) {
  Json fields = with_schema(schema);
  fields["root"] = snapshot.root;
  fields["as_of_ms"] = ms(snapshot.as_of);
  fields["complete"] = snapshot.unread() == 0;
  return fields;
}

/// Returns the begin of a document with a list of locks. The locks follow as texts, because values
/// of all of them would need several times the memory.
std::string list_head(const Json& fields) {
  std::string text = dumped(fields);
  text.back() = ',';
  return text + "\"locks\":[";
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
  Json fields = with_schema("zklock.lock/1");
  fields.update(fields_of(lock, cycle, known));
  fields["as_of_ms"] = ms(as_of);
  return dumped(fields);
}

std::string locks(const Snapshot& snapshot, const CycleMarks& marks) {
  std::string text = list_head(list_fields("zklock.locks/1", snapshot));
  for (const SurveyedLock& each : snapshot.locks) append_lock(text, each, marks);
  return text + "]}";
}

std::string found_locks(const Snapshot& snapshot, const CycleMarks& marks,
                        const FoundLocks& found) {
  Json fields = list_fields("zklock.found/1", snapshot);
  fields["all"] = snapshot.locks.size();
  fields["matching"] = found.matching;
  fields["shown"] = found.locks.size();
  std::string text = list_head(fields);
  for (const SurveyedLock* const each : found.locks) {
    SurveyedLock cut = *each;
    cut.waiters.resize(std::min(cut.waiters.size(), kMostFoundWaiters));
    append_lock(text, cut, marks);
  }
  return text + "]}";
}

std::string finding(const Finding& finding) {
  Json fields = with_schema("zklock.finding/1");
  fields["level"] = id_of(finding.level);
  fields["kind"] = finding.kind;
  fields["path"] = text_or_null(finding.path);
  fields["text"] = finding.text;
  fields["locks"] = finding.paths;
  fields["participants"] = Json::array();
  for (const auto& [path, each] : finding.participants) {
    Json participant{{"path", path}};
    participant.update(contender(each));
    fields["participants"].push_back(std::move(participant));
  }
  return dumped(fields);
}

std::string change(WallTime at, std::string_view kind, const std::string& lock) {
  Json fields = with_schema("zklock.change/1");
  fields["at_ms"] = ms(at);
  fields["kind"] = kind;
  fields["lock"] = lock.empty() ? Json() : Json::parse(lock);
  return dumped(fields);
}

std::string release(std::string_view path, std::string_view node, std::string_view outcome,
                    std::chrono::milliseconds waited, std::size_t holding) {
  Json fields = with_schema("zklock.release/1");
  fields["path"] = path;
  fields["node"] = node.empty() ? Json() : Json(node);
  fields["outcome"] = outcome;
  fields["waited_ms"] = waited.count();
  fields["holding"] = holding;
  return dumped(fields);
}

std::string hold(std::string_view path, std::string_view node, std::string_view token,
                 std::string_view kind, std::string_view note) {
  Json fields = with_schema("zklock.hold/1");
  fields["path"] = path;
  fields["node"] = node;
  fields["token"] = token;
  fields["kind"] = kind;
  fields["note"] = text_or_null(std::string(note));
  return dumped(fields);
}

std::string permits(std::string_view path, std::optional<int> count, std::int64_t held,
                    std::size_t waiting) {
  Json fields = with_schema("zklock.permits/1");
  fields["path"] = path;
  fields["count"] = value_or_null(count);
  fields["held"] = held;
  fields["waiting"] = waiting;
  return dumped(fields);
}

std::string doctor(Level level, std::string_view check, std::string_view text) {
  Json fields = with_schema("zklock.doctor/1");
  fields["level"] = id_of(level);
  fields["check"] = check;
  fields["text"] = text;
  return dumped(fields);
}

std::string hello(std::string_view root, std::string_view version) {
  Json fields = with_schema("zklock.live/1");
  fields["root"] = root;
  fields["version"] = version;
  return dumped(fields);
}

std::string beat(const Beat& beat) {
  Json fields = Json::object();
  fields["now_ms"] = ms(beat.now);
  fields["as_of_ms"] = beat.as_of == WallTime() ? Json() : Json(ms(beat.as_of));
  fields["pass_ms"] = beat.duration.count();
  fields["interval_ms"] = beat.interval.count();
  fields["connected"] = beat.connected;
  fields["locks"] = beat.totals.locks;
  fields["held"] = beat.totals.held;
  fields["waiting"] = beat.totals.waiting;
  fields["deadlocks"] = beat.totals.certain_cycles;
  fields["possible_deadlocks"] = beat.totals.possible_cycles;
  fields["shown"] = beat.shown;
  fields["unreadable"] = beat.unreadable;
  fields["error"] = text_or_null(beat.error);
  return dumped(fields);
}

std::string live_locks(WallTime as_of, bool is_first, bool is_last, std::string_view locks) {
  return "{\"as_of_ms\":" + std::to_string(ms(as_of)) +
         ",\"first\":" + (is_first ? "true" : "false") +
         ",\"last\":" + (is_last ? "true" : "false") + ",\"locks\":[" + std::string(locks) + "]}";
}

std::string live_change(WallTime as_of, std::string_view locks, std::string_view removed) {
  return "{\"as_of_ms\":" + std::to_string(ms(as_of)) + ",\"locks\":[" + std::string(locks) +
         "],\"removed\":[" + std::string(removed) + "]}";
}

std::string quoted(std::string_view text) {
  return dumped(Json(text));
}

}  // namespace zklock::cli::json
