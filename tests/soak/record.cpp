// SPDX-License-Identifier: Apache-2.0
#include "soak/record.h"

#include <algorithm>
#include <cstdio>
#include <iomanip>
#include <map>

#include "soak/trend.h"

namespace zklock::soak {
namespace {

std::string number(double value) {
  char text[32];
  std::snprintf(text, sizeof text, "%.0f", value);
  return text;
}

std::string quoted(const std::string& text) {
  std::string result = "\"";
  for (const char c : text) {
    if (c == '"' || c == '\\') result += '\\';
    result += c == '\n' ? ' ' : c;
  }
  return result + '"';
}

// A bound for the largest value of a figure over all rests.
Bound at_rest(std::string name, double found, double most) {
  return {std::move(name), number(found), "at most " + number(most), found <= most};
}

template <class Figure>
double largest(const std::vector<Sample>& samples, Figure figure) {
  double result = 0;
  for (const Sample& sample : samples) {
    result = std::max(result, static_cast<double>(figure(sample)));
  }
  return result;
}

double apart(std::size_t a, std::size_t b) {
  return static_cast<double>(std::max(a, b) - std::min(a, b));
}

void print_counts(std::ostream& out, const std::map<std::string, std::uint64_t>& counts) {
  const char* between = "";
  for (const auto& [name, count] : counts) {
    out << between << quoted(name) << ": " << count;
    between = ", ";
  }
}

std::map<std::string, std::uint64_t> by_name(const std::map<Errc, std::uint64_t>& errors) {
  std::map<std::string, std::uint64_t> named;
  for (const auto& [code, count] : errors) named[make_error_code(code).message()] += count;
  return named;
}

}  // namespace

std::optional<double> Record::slope_of(double ProcessFigures::*figure) const {
  std::vector<Point> points;
  for (std::size_t i = samples_.size() / 2; i < samples_.size(); ++i) {
    points.push_back(
        {static_cast<double>(samples_[i].cycles) / 100'000, samples_[i].process.*figure});
  }
  // Fewer cycles would show more of the allocator than of leaks.
  constexpr double kEnough = 0.1;
  if (points.empty() || points.back().x - points.front().x < kEnough) return std::nullopt;
  return slope(points);
}

std::vector<Bound> Record::judge(const Demands& demands) const {
  std::vector<Bound> bounds;
  const auto count = static_cast<double>(tally_.cycles);
  const double minutes = samples_.empty() ? 0 : samples_.back().seconds / 60;
  const double least = std::max(static_cast<double>(demands.cycles),
                                demands.of_speed ? demands.cycles_per_minute * minutes : 1);
  bounds.push_back({"cycles", number(count), "at least " + number(least), count >= least});
  bounds.push_back(
      at_rest("errors that nothing explains", static_cast<double>(tally_.unexpected.size()), 0));
  if (samples_.empty()) return bounds;

  bounds.push_back(
      at_rest("nodes left", largest(samples_, [](auto& s) { return s.server.nodes.size(); }), 0));
  bounds.push_back(
      at_rest("watches left", largest(samples_, [](auto& s) { return s.server.watches; }), 0));
  bounds.push_back(
      at_rest("sessions that are no client's, or missing",
              largest(samples_, [](auto& s) { return apart(s.server.sessions, s.clients); }), 0));
  bounds.push_back(at_rest(
      "connections, the same",
      largest(samples_, [](auto& s) { return apart(s.server.connections, s.clients); }), 0));
  const ProcessFigures& first = samples_.front().process;
  bounds.push_back(at_rest("descriptors",
                           largest(samples_, [](auto& s) { return s.process.descriptors; }),
                           static_cast<double>(first.descriptors)));
  bounds.push_back(at_rest("threads", largest(samples_, [](auto& s) { return s.process.threads; }),
                           static_cast<double>(first.threads)));
  if (!demands.of_memory) return bounds;
  for (const auto& [name, figure] : {std::pair("resident", &ProcessFigures::resident_kb),
                                     std::pair("heap", &ProcessFigures::heap_kb)}) {
    const auto found = slope_of(figure);
    bounds.push_back({std::string(name) + " kB more per 100,000 cycles",
                      found ? number(*found) : "unknown", "below " + number(demands.slope_kb),
                      found && *found < demands.slope_kb});
  }
  return bounds;
}

void Record::print_head(std::ostream& out) {
  out << "at rest after:    seconds     cycles  resident kB    heap kB  descr.  threads  sessions"
         "  watches  nodes\n";
}

void Record::print(std::ostream& out, const Sample& s) {
  char line[160];
  std::snprintf(line, sizeof line,
                "%-14s %10.0f %10llu %12.0f %10.0f %7zu %8zu %5zu/%-3zu %8zu %6zu\n",
                s.fault.c_str(), s.seconds, static_cast<unsigned long long>(s.cycles),
                s.process.resident_kb, s.process.heap_kb, s.process.descriptors, s.process.threads,
                s.server.sessions, s.clients, s.server.watches, s.server.nodes.size());
  out << line;
  std::size_t shown = 0;
  for (const std::string& node : s.server.nodes) {
    if (++shown <= 5) out << "  left: " << node << '\n';
  }
  out << std::flush;
}

void Record::print_summary(std::ostream& out, const std::vector<Bound>& bounds) const {
  out << "\ncycles by kind:\n";
  for (const auto& [kind, count] : tally_.by_kind) {
    out << "  " << std::left << std::setw(20) << kind << std::right << std::setw(10) << count
        << '\n';
  }
  out << "errors:\n";
  for (const auto& [what, count] : by_name(tally_.errors)) {
    out << "  " << std::setw(10) << count << "  " << what << '\n';
  }
  for (const std::string& text : tally_.unexpected) out << "  unexpected: " << text << '\n';
  out << '\n';
  for (const Bound& bound : bounds) {
    out << std::left << std::setw(44) << bound.name << std::right << std::setw(10) << bound.found
        << "   " << std::left << std::setw(20) << bound.demanded << std::right
        << (bound.kept ? "kept" : "BROKEN") << '\n';
  }
}

void Record::write_json(std::ostream& out, const std::vector<Bound>& bounds) const {
  out << "{\"cycles\": " << tally_.cycles << ", \"rests\": " << samples_.size()
      << ",\n \"by_kind\": {";
  print_counts(out, tally_.by_kind);
  out << "},\n \"errors\": {";
  print_counts(out, by_name(tally_.errors));
  out << "},\n \"bounds\": [";
  const char* between = "";
  for (const Bound& bound : bounds) {
    out << between << "\n  {\"name\": " << quoted(bound.name)
        << ", \"found\": " << quoted(bound.found) << ", \"demanded\": " << quoted(bound.demanded)
        << ", \"kept\": " << (bound.kept ? "true" : "false") << '}';
    between = ",";
  }
  out << "],\n \"samples\": [";
  between = "";
  for (const Sample& s : samples_) {
    out << between << "\n  {\"after\": " << quoted(s.fault) << ", \"seconds\": " << s.seconds
        << ", \"cycles\": " << s.cycles << ", \"resident_kb\": " << s.process.resident_kb
        << ", \"heap_kb\": " << s.process.heap_kb << ", \"descriptors\": " << s.process.descriptors
        << ", \"threads\": " << s.process.threads << ", \"sessions\": " << s.server.sessions
        << ", \"clients\": " << s.clients << ", \"watches\": " << s.server.watches
        << ", \"nodes\": " << s.server.nodes.size() << '}';
    between = ",";
  }
  out << "]}\n";
}

}  // namespace zklock::soak
