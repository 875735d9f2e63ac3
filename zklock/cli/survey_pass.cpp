// SPDX-License-Identifier: Apache-2.0
#include "zklock/cli/survey_pass.h"

#include <chrono>
#include <cstddef>
#include <utility>
#include <vector>

#include "zklock/cli/core/duration.h"
#include "zklock/cli/io/pause.h"
#include "zklock/deadline.h"
#include "zklock/lease_clock.h"

namespace zklock::cli {

namespace {

constexpr std::size_t kPageSize = 1'000;
/// Longer than the connection timeout of a view. Otherwise a missing server would not be noticed.
constexpr std::chrono::seconds kBetweenProgressLines{10};

void read_locks(Client& client, const std::string& root, const SurveyOptions& options,
                Snapshot& snapshot, const OnProgress& on_progress = {}) {
  Survey survey(client, root, options);
  Instant next_report = LeaseClock::now() + kBetweenProgressLines;
  while (!survey.is_complete()) {
    add_page(snapshot, survey.next(kPageSize, on_progress ? Deadline(next_report) : Deadline()));
    if (!on_progress || survey.is_complete() || LeaseClock::now() < next_report) continue;
    on_progress(snapshot);
    next_report = LeaseClock::now() + kBetweenProgressLines;
  }
}

/// Blocks for the time that `requests` may take at least, or until the stop.
void pause_for(std::size_t requests, std::size_t per_second, const std::stop_token& stop) {
  if (per_second == 0) return;
  const std::chrono::duration<double> least(static_cast<double>(requests) /
                                            static_cast<double>(per_second));
  pause(std::chrono::duration_cast<std::chrono::milliseconds>(least) + std::chrono::milliseconds(1),
        stop);
}

std::vector<LockCycle> confirm(Client& client, std::vector<LockCycle> found, SurveyOptions options,
                               const std::stop_token& stop) {
  Snapshot second;
  options.max_depth = 0;
  for (const std::string& path : paths_to_confirm(found)) {
    const std::size_t before = second.contenders;
    read_locks(client, path, options, second);
    // Each survey limits its own rate only, from its second round of requests on.
    pause_for(1 + second.contenders - before, options.requests_per_second, stop);
  }
  return confirmed_cycles(std::move(found), second.locks);
}

}  // namespace

Snapshot read_snapshot(Client& client, const std::string& root, const SurveyOptions& options,
                       const std::stop_token& stop, const OnProgress& on_progress) {
  Snapshot snapshot;
  snapshot.root = root;
  snapshot.as_of = std::chrono::system_clock::now();
  const auto begin = LeaseClock::now();
  read_locks(client, root, options, snapshot, on_progress);
  snapshot.cycles = confirm(client, find_cycles(snapshot.locks), options, stop);
  sort_lists(snapshot);
  snapshot.duration =
      std::chrono::duration_cast<std::chrono::milliseconds>(LeaseClock::now() - begin);
  return snapshot;
}

}  // namespace zklock::cli
