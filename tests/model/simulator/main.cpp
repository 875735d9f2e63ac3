// SPDX-License-Identifier: Apache-2.0
// simulate: runs the library on simulated clocks, networks and servers, many times. See usage().
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <exception>
#include <fstream>
#include <iostream>
#include <iterator>
#include <sstream>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

#include <sys/wait.h>
#include <unistd.h>

#include "tests/model/simulator/command_line.h"
#include "tests/model/simulator/planner.h"
#include "tests/model/simulator/run.h"
#include "tests/model/simulator/shrink.h"

namespace zklock::simulator {
namespace {

int usage() {
  std::cerr
      << "usage: simulate --seeds N [--from S] [--minutes M] [--threads N] [--keep-going]\n"
         "       simulate --seed S [--no-shrink]   one, with its history\n"
         "       simulate --plan FILE              the same of a plan\n"
         "Runs N seeds, from S on, or those that there is time for. Each is a world with its\n"
         "processes, locks and faults; the history of each is checked for the invariants I1\n"
         "to I10 (tests/model/checker.h). The first that fails is shrunk to the\n"
         "smallest plan that still does, and printed. Exit status 1: one has failed.\n";
  return 2;
}

std::string line_of(const Violation& violation, Instant began) {
  const auto at = std::chrono::duration<double>(violation.at - began).count();
  return violation.invariant + " after " + std::to_string(at) + " s: " + violation.text;
}

int show(const Plan& plan, bool shrinks) {
  std::cout << to_text(plan) << '\n';
  const Run whole = run(plan, [](const std::string& line) { std::cout << line << '\n'; });
  if (!whole.violation) {
    std::cout << "no violation\n";
    return 0;
  }
  std::cout << "VIOLATION " << line_of(*whole.violation, whole.began) << '\n';
  if (!shrinks) return 1;
  const Plan least = shrink(plan, whole.violation->invariant);
  std::cout << "\nthe smallest plan that still fails:\n" << to_text(least) << '\n';
  const Run again = run(least, [](const std::string& line) { std::cout << line << '\n'; });
  if (again.violation) std::cout << "VIOLATION " << line_of(*again.violation, again.began) << '\n';
  return 1;
}

/// Runs every n-th seed from this worker's first seed on; n is the number of workers.
Tally work(const CommandLine& command_line, unsigned worker) {
  const auto end = std::chrono::steady_clock::now() +
                   std::chrono::duration_cast<std::chrono::steady_clock::duration>(
                       std::chrono::duration<double>(command_line.minutes * 60));
  Tally sum;
  for (std::uint64_t i = worker; command_line.seeds == 0 || i < command_line.seeds;
       i += command_line.workers) {
    if (command_line.minutes > 0 && std::chrono::steady_clock::now() >= end) break;
    const std::uint64_t seed = command_line.from + i;
    const Run one = run(make_plan(seed));
    sum.add(one.tally);
    if (!one.violation) continue;
    std::ostringstream text;
    text << "seed " << seed << ": " << line_of(*one.violation, one.began) << '\n';
    std::cout << text.str() << std::flush;
    if (!command_line.keep_going) break;
  }
  return sum;
}

/// A worker process. It sends its tally through the pipe.
struct Worker {
  pid_t pid = -1;
  int from = -1;
};

Worker start(const CommandLine& command_line, unsigned number) {
  int ends[2] = {-1, -1};
  if (::pipe(ends) != 0) throw std::runtime_error("no pipe");
  const pid_t pid = ::fork();
  if (pid < 0) throw std::runtime_error("no process");
  if (pid == 0) {
    ::close(ends[0]);
    const Tally sum = work(command_line, number);
    const bool written = ::write(ends[1], &sum, sizeof sum) == sizeof sum;
    std::cout.flush();
    ::_exit(written ? 0 : 2);
  }
  ::close(ends[1]);
  return {pid, ends[0]};
}

/// Returns false if the worker failed.
bool finish(const Worker& worker, Tally& sum) {
  Tally part;
  std::size_t got = 0;
  while (got < sizeof part) {
    const ssize_t n = ::read(worker.from, reinterpret_cast<char*>(&part) + got, sizeof part - got);
    if (n <= 0) break;
    got += static_cast<std::size_t>(n);
  }
  ::close(worker.from);
  int status = 0;
  ::waitpid(worker.pid, &status, 0);
  if (got != sizeof part || status != 0) return false;
  sum.add(part);
  return true;
}

void print(const Tally& sum, double seconds) {
  const auto rate = [seconds](std::uint64_t n) { return static_cast<double>(n) / seconds; };
  std::printf("faults by class:\n");
  for (std::size_t i = 0; i < kFaultClasses; ++i) {
    const std::string_view name = name_of(static_cast<Fault>(i));
    std::printf("  %-22.*s %12llu\n", static_cast<int>(name.size()), name.data(),
                static_cast<unsigned long long>(sum.faults[i]));
  }
  const auto line = [&](const char* what, std::uint64_t n) {
    std::printf("%-24s %12llu  (%.0f a second)\n", what, static_cast<unsigned long long>(n),
                rate(n));
  };
  line("seeds", sum.seeds);
  line("operations", sum.operations);
  line("calls", sum.calls);
  line("grants", sum.grants);
  line("losses notified", sum.losses);
  line("stale writes refused", sum.stale_refused);
  line("guarded writes", sum.guarded);
  line("events", sum.events);
  line("faults", sum.all_faults());
  std::printf("%-24s %12.1f\n", "simulated hours", static_cast<double>(sum.milliseconds) / 3.6e6);
  std::printf("%-24s %12.1f\n", "seconds", seconds);
  std::printf("%-24s %12llu\n", "violations", static_cast<unsigned long long>(sum.violations));
}

int run_all(const CommandLine& command_line) {
  const auto began = std::chrono::steady_clock::now();
  Tally sum;
  bool good = true;
  if (command_line.workers == 1) {
    sum = work(command_line, 0);
  } else {
    std::vector<Worker> workers;
    for (unsigned i = 0; i < command_line.workers; ++i) workers.push_back(start(command_line, i));
    for (const Worker& worker : workers) good = finish(worker, sum) && good;
  }
  const std::chrono::duration<double> took = std::chrono::steady_clock::now() - began;
  print(sum, took.count());
  if (!good) std::printf("a worker has failed\n");
  return good && sum.violations == 0 ? 0 : 1;
}

int main_with(const std::vector<std::string>& words) {
  const auto command_line = parse_command_line(words);
  if (!command_line) return usage();
  if (command_line->seed) return show(make_plan(*command_line->seed), command_line->shrinks);
  if (!command_line->plan.empty()) {
    std::ifstream file(command_line->plan);
    const std::string text{std::istreambuf_iterator<char>(file), {}};
    const auto plan = parse_plan(text);
    if (!plan || plan->setup.objects.empty()) {
      std::cerr << command_line->plan << " is no plan\n";
      return 2;
    }
    return show(*plan, command_line->shrinks);
  }
  if (command_line->seeds == 0 && command_line->minutes <= 0) return usage();
  return run_all(*command_line);
}

}  // namespace
}  // namespace zklock::simulator

int main(int argc, char** argv) {
  try {
    return zklock::simulator::main_with({argv + 1, argv + argc});
  } catch (const std::exception& e) {
    std::cerr << "simulate: " << e.what() << '\n';
    return 2;
  }
}
