// SPDX-License-Identifier: Apache-2.0
#include "zklock/cli/core/observed_metrics.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <string_view>
#include <vector>

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

std::string escaped(std::string_view label) {
  std::string text;
  for (const char c : label) {
    if (c == '\\' || c == '"') text += '\\';
    text += c == '\n' ? std::string("\\n") : std::string(1, c);
  }
  return text;
}

/// Writes families of gauges.
class Writer {
 public:
  void family(std::string_view name, std::string_view help) {
    name_ = std::string(kPrefix) + std::string(name);
    text_ += "# HELP " + name_ + " " + std::string(help) + "\n# TYPE " + name_ + " gauge\n";
  }
  void value(double value) { line("", value); }
  void value(std::string_view label, std::string_view of, double value) {
    line("{" + std::string(label) + "=\"" + escaped(of) + "\"}", value);
  }
  std::string take() { return std::move(text_); }

 private:
  void line(const std::string& labels, double value) {
    std::array<char, 32> digits{};
    const auto end = std::to_chars(digits.data(), digits.data() + digits.size(), value);
    text_ += name_ + labels + " " + std::string(digits.data(), end.ptr) + "\n";
  }

  std::string text_;
  std::string name_;
};

void write_rows(Writer& out, const std::vector<Row>& rows) {
  struct Family {
    std::string_view name;
    std::string_view help;
    double Row::*member;
  };
  constexpr std::array kFamilies{
      Family{"holds", "Holders of the lock.", &Row::holds},
      Family{"waiters", "Contenders that wait for the lock.", &Row::waiters},
      Family{"oldest_hold_seconds", "Age of the oldest hold.", &Row::oldest_hold},
      Family{"oldest_wait_seconds", "Age of the oldest waiting contender.", &Row::oldest_wait},
      Family{"sequence_used_ratio", "Used part of the sequence numbers.", &Row::sequence}};
  for (const Family& each : kFamilies) {
    out.family(each.name, each.help);
    for (const Row& row : rows) out.value("path", row.path, row.*each.member);
  }
}

void write_totals(Writer& out, const Snapshot& snapshot) {
  const auto certain = std::ranges::count_if(snapshot.cycles, &LockCycle::is_certain);
  const auto cycles = static_cast<double>(snapshot.cycles.size());
  out.family("cycles", "Circles of owners that wait for each other.");
  out.value("kind", "certain", static_cast<double>(certain));
  out.value("kind", "possible", cycles - static_cast<double>(certain));
  out.family("locks", "Locks with a contender.");
  out.value(static_cast<double>(snapshot.locks.size()));
  out.family("unreadable_paths", "Znodes without READ permission.");
  out.value(static_cast<double>(snapshot.unreadable.size()));
  out.family("pass_seconds", "Duration of the last pass over all locks.");
  out.value(seconds(snapshot.duration));
  out.family("last_pass_timestamp_seconds", "Begin of the last pass, in seconds since 1970.");
  out.value(std::chrono::duration<double>(snapshot.as_of.time_since_epoch()).count());
}

}  // namespace

std::string observed_metrics(const Snapshot* snapshot, bool connected, WallTime now) {
  Writer out;
  if (snapshot != nullptr) {
    write_rows(out, rows_of(*snapshot, now));
    write_totals(out, *snapshot);
  }
  out.family("connected", "1 if the session is connected, otherwise 0.");
  out.value(connected ? 1 : 0);
  return out.take();
}

}  // namespace zklock::cli
