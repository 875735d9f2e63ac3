// SPDX-License-Identifier: Apache-2.0
#include "zklock/cli/core/observed_metrics.h"

#include <algorithm>
#include <array>
#include <chrono>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "zklock/cli/core/json_text.h"
#include "zklock/cli/core/snapshot.h"
#include "zklock/cli/core/text.h"
#include "zklock/metrics.h"

namespace zklock::cli {

namespace {

constexpr std::string_view kPrefix = "zklock_observed_";

/// The numbers of one path, or of all paths that share a label.
struct Row {
  std::string path;
  double holds = 0;
  double waiters = 0;
  double oldest_hold = 0;
  double oldest_wait = 0;
  double sequence = 0;
};

double seconds(std::chrono::milliseconds time) {
  return std::chrono::duration<double>(time).count();
}

Row row_of(const SurveyedLock& lock, WallTime now) {
  constexpr double kSequences = 2147483647;
  Row row{.path = lock.path};
  row.holds = static_cast<double>(lock.state.holding);
  row.waiters = static_cast<double>(lock.state.waiting);
  // A leader leads for days, and a standby waits as long.
  if (!is_led(lock)) {
    row.oldest_hold = seconds(oldest_alert(lock, now).value_or(std::chrono::milliseconds(0)));
    row.oldest_wait = seconds(oldest_wait(lock, now).value_or(std::chrono::milliseconds(0)));
  }
  // Past its end, the counter is negative.
  row.sequence = lock.next_sequence < 0 ? 1 : lock.next_sequence / kSequences;
  return row;
}

void add(Row& sum, const Row& row) {
  sum.holds += row.holds;
  sum.waiters += row.waiters;
  sum.oldest_hold = std::max(sum.oldest_hold, row.oldest_hold);
  sum.oldest_wait = std::max(sum.oldest_wait, row.oldest_wait);
  sum.sequence = std::max(sum.sequence, row.sequence);
}

std::vector<Row> rows_of(const Snapshot& snapshot, const MetricPaths& paths, WallTime now) {
  std::vector<Row> rows;
  Row other{.path = "other"};
  for (const SurveyedLock& lock : snapshot.locks) {
    if (paths.contains(lock.path)) {
      rows.push_back(row_of(lock, now));
    } else {
      add(other, row_of(lock, now));
    }
  }
  if (rows.size() < snapshot.locks.size()) rows.push_back(std::move(other));
  return rows;
}

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

void add_rows(std::vector<MetricFamily>& all, const std::vector<Row>& rows) {
  struct Column {
    std::string_view name;
    std::string_view help;
    double Row::*member;
  };
  constexpr std::array kColumns{
      Column{"holds", "Holders of the lock.", &Row::holds},
      Column{"waiters", "Contenders that wait for the lock.", &Row::waiters},
      Column{"oldest_hold_seconds", "Age of the oldest hold.", &Row::oldest_hold},
      Column{"oldest_wait_seconds", "Age of the oldest waiting contender.", &Row::oldest_wait},
      Column{"sequence_used_ratio", "Used part of the sequence numbers.", &Row::sequence}};
  for (const Column& each : kColumns) {
    Samples samples;
    for (const Row& row : rows) {
      samples.push_back({.labels = {{"path", label_of(row.path)}}, .value = row.*each.member});
    }
    all.push_back(family(each.name, each.help, std::move(samples)));
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
    add_rows(all, rows_of(*snapshot, paths, now));
    add_totals(all, *snapshot);
  }
  all.push_back(family("connected", "1 if the session is connected, otherwise 0.",
                       {{.value = connected ? 1.0 : 0.0}}));
  return metrics_text(all);
}

}  // namespace zklock::cli
