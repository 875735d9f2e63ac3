// SPDX-License-Identifier: Apache-2.0
#include "zklock/cli/core/observed_metrics.h"

#include <algorithm>
#include <array>
#include <chrono>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

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

/// The age of a hold for an alert: an upper limit would raise false ones.
double alert_age(const Participant& holder, WallTime now) {
  const HoldAge held = hold_age(holder, now);
  const bool counts = held.is_exact || library_of(holder) != Library::zklock;
  return counts ? seconds(held.age) : 0;
}

Row row_of(const SurveyedLock& lock, WallTime now) {
  constexpr double kSequences = 2147483647;
  Row row{.path = lock.path};
  row.holds = static_cast<double>(lock.state.holding);
  row.waiters = static_cast<double>(lock.state.waiting);
  for (const Participant& holder : lock.state.holders) {
    row.oldest_hold = std::max(row.oldest_hold, alert_age(holder, now));
  }
  row.oldest_wait = seconds(oldest_wait(lock, now).value_or(std::chrono::milliseconds(0)));
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

std::vector<Row> rows_of(const Snapshot& snapshot, WallTime now) {
  std::vector<Row> rows;
  const auto shown = std::min(snapshot.locks.size(), kMostMetricPaths);
  for (std::size_t i = 0; i < shown; ++i) rows.push_back(row_of(snapshot.locks[i], now));
  if (shown == snapshot.locks.size()) return rows;
  Row other{.path = "other"};
  for (std::size_t i = shown; i < snapshot.locks.size(); ++i) {
    add(other, row_of(snapshot.locks[i], now));
  }
  rows.push_back(std::move(other));
  return rows;
}

using Samples = std::vector<MetricFamily::Sample>;

MetricFamily family(std::string_view name, std::string_view help, Samples samples) {
  return {.name = std::string(kPrefix).append(name),
          .help = std::string(help),
          .samples = std::move(samples)};
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
      samples.push_back({.labels = {{"path", row.path}}, .value = row.*each.member});
    }
    all.push_back(family(each.name, each.help, std::move(samples)));
  }
}

void add_totals(std::vector<MetricFamily>& all, const Snapshot& snapshot) {
  const auto add = [&](std::string_view name, std::string_view help, double value) {
    all.push_back(family(name, help, {{.value = value}}));
  };
  const auto certain =
      static_cast<double>(std::ranges::count_if(snapshot.cycles, &LockCycle::is_certain));
  const double possible = static_cast<double>(snapshot.cycles.size()) - certain;
  all.push_back(family("cycles", "Circles of owners that wait for each other.",
                       {{.labels = {{"kind", "certain"}}, .value = certain},
                        {.labels = {{"kind", "possible"}}, .value = possible}}));
  add("locks", "Locks with a contender.", static_cast<double>(snapshot.locks.size()));
  add("unreadable_paths", "Znodes without READ permission.",
      static_cast<double>(snapshot.unreadable.size()));
  add("pass_seconds", "Duration of the last pass over all locks.", seconds(snapshot.duration));
  add("last_pass_timestamp_seconds", "Begin of the last pass, in seconds since 1970.",
      std::chrono::duration<double>(snapshot.as_of.time_since_epoch()).count());
}

}  // namespace

std::string observed_metrics(const Snapshot* snapshot, bool connected, WallTime now) {
  std::vector<MetricFamily> all;
  if (snapshot != nullptr) {
    add_rows(all, rows_of(*snapshot, now));
    add_totals(all, *snapshot);
  }
  all.push_back(family("connected", "1 if the session is connected, otherwise 0.",
                       {{.value = connected ? 1.0 : 0.0}}));
  return metrics_text(all);
}

}  // namespace zklock::cli
