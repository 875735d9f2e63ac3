// SPDX-License-Identifier: Apache-2.0
#include "chaos/report.h"

#include <algorithm>
#include <cstdio>
#include <iomanip>

namespace zklock::chaos {
namespace {

constexpr int kWidth = 30;
constexpr std::size_t kShown = 20;

template <class Value>
void row(std::ostream& out, const std::string& name, const Value& value) {
  out << "  " << std::left << std::setw(kWidth) << name << std::right << std::setw(10) << value
      << '\n';
}

std::string quoted(const std::string& text) {
  std::string result = "\"";
  for (const char c : text) {
    if (c == '"' || c == '\\') {
      result += '\\';
      result += c;
    } else if (static_cast<unsigned char>(c) < 0x20) {
      char escape[8];
      std::snprintf(escape, sizeof escape, "\\u%04x", static_cast<unsigned>(c));
      result += escape;
    } else {
      result += c;
    }
  }
  return result + '"';
}

void print_map(std::ostream& out, const std::map<std::string, std::uint64_t>& values) {
  out << '{';
  const char* separator = "";
  for (const auto& [name, value] : values) {
    out << separator << quoted(name) << ": " << value;
    separator = ", ";
  }
  out << '}';
}

}  // namespace

std::uint64_t Report::faults_in_all() const {
  std::uint64_t sum = 0;
  for (const auto& [name, number] : faults) sum += number;
  return sum;
}

std::uint64_t Report::fault_classes() const {
  return static_cast<std::uint64_t>(std::count_if(
      faults.begin(), faults.end(), [](const auto& each) { return each.second > 0; }));
}

void print_table(std::ostream& out, const Report& report) {
  out << "chaos: seed " << report.seed << ", " << report.seconds << " s, servers with "
      << report.servers << '\n';
  row(out, "grants", report.grants);
  row(out, "  of these without a request", report.local_grants);
  for (const auto& [name, number] : report.grants_by_lock) row(out, "  " + name, number);
  row(out, "losses", report.losses);
  row(out, "stale writes refused", report.refusals.unaware + report.refusals.late);
  row(out, "  the writer knew no better", report.refusals.unaware);
  row(out, "  sent late on purpose", report.refusals.late);
  row(out, "faults", report.faults_in_all());
  row(out, "  of classes", report.fault_classes());
  row(out, "  tried without effect", report.faults_without_effect);
  out << "faults by class\n";
  for (const auto& [name, number] : report.faults) row(out, name, number);
  out << "seen by the clients\n";
  for (const auto& [name, number] : report.tally) row(out, name, number);
  row(out, "violations", report.violations.size());
  for (std::size_t i = 0; i < std::min(kShown, report.violations.size()); ++i) {
    out << "VIOLATION " << report.violations[i] << '\n';
  }
  if (!report.kept.empty()) {
    out << "the history of this run is in " << report.kept << "; its seed was " << report.seed
        << '\n';
  }
}

void print_json(std::ostream& out, const Report& report) {
  out << "{\"seed\": " << report.seed << ", \"servers\": " << quoted(report.servers)
      << ", \"seconds\": " << report.seconds << ", \"grants\": " << report.grants
      << ", \"local_grants\": " << report.local_grants << ", \"losses\": " << report.losses
      << ", \"grants_by_lock\": ";
  print_map(out, report.grants_by_lock);
  out << ", \"stale_writes_refused\": " << report.refusals.unaware + report.refusals.late
      << ", \"refused_unaware\": " << report.refusals.unaware
      << ", \"refused_late\": " << report.refusals.late
      << ", \"faults\": " << report.faults_in_all()
      << ", \"fault_classes\": " << report.fault_classes()
      << ", \"faults_without_effect\": " << report.faults_without_effect
      << ", \"faults_by_class\": ";
  print_map(out, report.faults);
  out << ", \"clients\": ";
  print_map(out, report.tally);
  out << ", \"violations\": [";
  const char* separator = "";
  for (const std::string& violation : report.violations) {
    out << separator << quoted(violation);
    separator = ", ";
  }
  out << "], \"history\": " << quoted(report.kept) << "}\n";
}

}  // namespace zklock::chaos
