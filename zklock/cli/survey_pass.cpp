// SPDX-License-Identifier: Apache-2.0
#include "zklock/cli/survey_pass.h"

#include <chrono>
#include <cstddef>
#include <set>
#include <utility>
#include <vector>

#include "zklock/deadline.h"
#include "zklock/lease_clock.h"

namespace zklock::cli {

namespace {

constexpr std::size_t kPageSize = 1'000;
constexpr std::chrono::seconds kSlice{1};         ///< between two looks at the stop token
constexpr std::size_t kMostConfirmedPaths = 200;  ///< cycles beyond it stay possible

Deadline slice(const std::stop_token& stop) {
  return stop.stop_possible() ? Deadline(kSlice) : Deadline::never();
}

void read_locks(Client& client, const std::string& root, const SurveyOptions& options,
                const std::stop_token& stop, Snapshot& snapshot) {
  Survey survey(client, root, options);
  while (!survey.is_complete() && !stop.stop_requested()) {
    add_page(snapshot, survey.next(kPageSize, slice(stop)));
  }
}

std::vector<LockCycle> confirm(Client& client, std::vector<LockCycle> found, SurveyOptions options,
                               const std::stop_token& stop) {
  std::set<std::string> paths;
  for (const LockCycle& cycle : found) {
    if (!cycle.is_certain || paths.size() >= kMostConfirmedPaths) continue;
    for (const WaitStep& step : cycle.steps) paths.insert(step.path);
  }
  Snapshot second;
  options.max_depth = 0;
  for (const std::string& path : paths) read_locks(client, path, options, stop, second);
  return confirmed_cycles(std::move(found), second.locks);
}

}  // namespace

Snapshot read_snapshot(Client& client, const std::string& root, const SurveyOptions& options,
                       const std::stop_token& stop) {
  Snapshot snapshot;
  snapshot.root = root;
  snapshot.as_of = std::chrono::system_clock::now();
  const auto begin = LeaseClock::now();
  read_locks(client, root, options, stop, snapshot);
  snapshot.cycles = confirm(client, find_cycles(snapshot.locks), options, stop);
  sort_lists(snapshot);
  snapshot.duration =
      std::chrono::duration_cast<std::chrono::milliseconds>(LeaseClock::now() - begin);
  return snapshot;
}

}  // namespace zklock::cli
