// SPDX-License-Identifier: Apache-2.0
#include "zklock/cli/core/observed_metrics.h"

#include <algorithm>
#include <array>
#include <string_view>
#include <utility>
#include <vector>

#include "zklock/cli/core/json_text.h"
#include "zklock/cli/core/text.h"
#include "zklock/metrics.h"

namespace zklock::cli {

namespace {

constexpr std::string_view kPrefix = "zklock_observed_";

double seconds(std::chrono::milliseconds time) {
  return std::chrono::duration<double>(time).count();
}

/// Returns an age in seconds. A leader leads for days, and a standby waits as long: both have none.
template <class Age>
double seconds_of(const SurveyedLock& lock, WallTime now, Age age_of) {
  const auto age = is_led(lock) ? std::nullopt : age_of(lock, now);
  return seconds(age.value_or(std::chrono::milliseconds(0)));
}

/// A metric of one lock. For all locks that share a label, it is their sum or their maximum.
struct Column {
  std::string_view name;
  std::string_view help;
  bool is_sum;
  double (*value)(const SurveyedLock& lock, WallTime now);
};
constexpr std::array kColumns{
    Column{
        "holds", "Holders of the lock.", true,
        [](const SurveyedLock& lock, WallTime) { return static_cast<double>(lock.state.holding); }},
    Column{
        "waiters", "Contenders that wait for the lock.", true,
        [](const SurveyedLock& lock, WallTime) { return static_cast<double>(lock.state.waiting); }},
    Column{
        "oldest_hold_seconds", "Age of the oldest hold.", false,
        [](const SurveyedLock& lock, WallTime now) { return seconds_of(lock, now, oldest_alert); }},
    Column{
        "oldest_wait_seconds", "Age of the oldest waiting contender.", false,
        [](const SurveyedLock& lock, WallTime now) { return seconds_of(lock, now, oldest_wait); }},
    Column{"sequence_used_ratio", "Used part of the sequence numbers.", false,
           [](const SurveyedLock& lock, WallTime) {
             // Past its end, the counter is negative.
             return lock.next_sequence < 0 ? 1.0 : lock.next_sequence / 2147483647.0;
           }}};

using Samples = std::vector<MetricFamily::Sample>;

MetricFamily family(std::string_view name, std::string_view help, Samples samples) {
  return {.name = std::string(kPrefix).append(name),
          .help = std::string(help),
          .samples = std::move(samples)};
}

/// Returns the value of a label. Different paths have different texts, because equal series would
/// break the document. So hidden characters are escaped, as in JSON, and not replaced.
std::string label_of(const std::string& path) {
  if (display_text(path) == path && path.find('\\') == std::string::npos) return path;
  const std::string quoted = json::quoted(path);
  return quoted.substr(1, quoted.size() - 2);
}

void add_columns(std::vector<MetricFamily>& all, const Snapshot& snapshot, const MetricPaths& paths,
                 WallTime now) {
  for (const Column& column : kColumns) {
    Samples samples;
    double other = 0;
    for (const SurveyedLock& lock : snapshot.locks) {
      const double value = column.value(lock, now);
      if (paths.contains(lock.path)) {
        samples.push_back({.labels = {{"path", label_of(lock.path)}}, .value = value});
      } else {
        other = column.is_sum ? other + value : std::max(other, value);
      }
    }
    if (samples.size() < snapshot.locks.size()) {
      samples.push_back({.labels = {{"path", "other"}}, .value = other});
    }
    all.push_back(family(column.name, column.help, std::move(samples)));
  }
}

void add_totals(std::vector<MetricFamily>& all, const Snapshot& snapshot) {
  const auto add = [&](std::string_view name, std::string_view help, double value) {
    all.push_back(family(name, help, {{.value = value}}));
  };
  const SurveyTotals totals = totals_of(snapshot);
  const auto certain = static_cast<double>(totals.certain_cycles);
  const auto possible = static_cast<double>(totals.possible_cycles);
  all.push_back(family("cycles", "Circles of owners that wait for each other.",
                       {{.labels = {{"kind", "certain"}}, .value = certain},
                        {.labels = {{"kind", "possible"}}, .value = possible}}));
  add("locks", "Locks with a contender.", static_cast<double>(totals.locks));
  add("held_locks", "Locks with a holder.", static_cast<double>(totals.held));
  add("unreadable_paths", "Znodes without READ permission.",
      static_cast<double>(snapshot.unreadable.size()));
  add("pass_duration_seconds", "Duration of the last pass over all locks.",
      seconds(snapshot.duration));
  add("last_pass_timestamp_seconds", "Begin of the last pass, in seconds since 1970.",
      std::chrono::duration<double>(snapshot.as_of.time_since_epoch()).count());
}

}  // namespace

MetricPaths metric_paths(const Snapshot& snapshot, const MetricPaths& before) {
  MetricPaths paths;
  for (const bool is_old : {true, false}) {
    for (const SurveyedLock& lock : snapshot.locks) {
      if (paths.size() == kMostMetricPaths) return paths;
      if (before.contains(lock.path) == is_old) paths.insert(lock.path);
    }
  }
  return paths;
}

std::string observed_metrics(const Snapshot* snapshot, const MetricPaths& paths, bool connected,
                             WallTime now) {
  std::vector<MetricFamily> all;
  if (snapshot != nullptr) {
    add_columns(all, *snapshot, paths, now);
    add_totals(all, *snapshot);
  }
  all.push_back(family("connected", "1 if the session is connected, otherwise 0.",
                       {{.value = connected ? 1.0 : 0.0}}));
  return metrics_text(all);
}

}  // namespace zklock::cli
