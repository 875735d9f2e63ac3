// SPDX-License-Identifier: Apache-2.0
#include "zklock/cli/survey_pass.h"

#include <chrono>
#include <functional>
#include <utility>
#include <vector>

#include "zklock/cli/command_support.h"
#include "zklock/cli/core/duration.h"
#include "zklock/cli/core/failure.h"
#include "zklock/cli/core/text.h"
#include "zklock/cli/io/events.h"
#include "zklock/cli/io/standard_streams.h"
#include "zklock/deadline.h"
#include "zklock/lease_clock.h"

namespace zklock::cli {

namespace {

/// Receives what was read until now. May be empty.
using OnProgress = std::function<void(const Snapshot&)>;

constexpr std::size_t kPageSize = 1'000;
constexpr const char* kUnreadable = "no READ permission";
/// Longer than the connection timeout of a view. Otherwise a missing server would not be noticed.
constexpr std::chrono::seconds kBetweenProgressLines{10};

void read_locks(Client& client, const std::string& root, const SurveyOptions& options,
                Snapshot& snapshot, const OnProgress& on_progress = {}) {
  Survey survey(client, root, options);
  Instant next_report = LeaseClock::now() + kBetweenProgressLines;
  while (!survey.is_complete()) {
    add_page(snapshot, survey.next(kPageSize, on_progress ? Deadline(next_report) : Deadline()),
             kMostContenders);
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

Snapshot read_all(Client& client, const std::string& root, const SurveyOptions& options,
                  const std::stop_token& stop, const OnProgress& on_progress) {
  Snapshot snapshot;
  snapshot.root = root;
  snapshot.as_of = std::chrono::system_clock::now();
  const auto begin = LeaseClock::now();
  read_locks(client, root, options, snapshot, on_progress);
  complete(snapshot, confirm(client, find_cycles(snapshot.locks), options, stop));
  snapshot.duration =
      std::chrono::duration_cast<std::chrono::milliseconds>(LeaseClock::now() - begin);
  return snapshot;
}

}  // namespace

Snapshot read_snapshot(Client& client, const std::string& root, const SurveyOptions& options,
                       const std::stop_token& stop) {
  return read_all(client, root, options, stop, {});
}

Snapshot read_snapshot(const Invocation& invocation, Client& client, const std::string& root,
                       const SurveyOptions& options) {
  if (invocation.settings.quiet) return read_snapshot(client, root, options);
  return read_all(client, root, options, {}, [&](const Snapshot& snapshot) {
    say(invocation.place, counted(snapshot.visited, "path") + " read, with " +
                              counted(snapshot.locks.size(), "lock") + "; at most " +
                              std::to_string(options.requests_per_second) + " requests a second");
  });
}

std::optional<SurveyedLock> read_lock(Client& client, const std::string& path,
                                      std::size_t max_holders, std::size_t max_waiting) {
  Snapshot snapshot = read_snapshot(
      client, path, {.max_holders = max_holders, .max_waiting = max_waiting, .max_depth = 0});
  if (!snapshot.unreadable.empty()) throw Failure(ExitCode::kNoPermission, kUnreadable);
  if (snapshot.locks.empty()) return std::nullopt;
  return std::move(snapshot.locks.front());
}

void report_unread(const Invocation& invocation, const Snapshot& snapshot) {
  if (snapshot.unread() == 0) return;
  say(invocation.place, counted(snapshot.unread(), "path") +
                            " not read: " + std::to_string(snapshot.unreadable.size()) +
                            " without READ permission, " +
                            std::to_string(snapshot.too_deep.size()) + " too deep");
}

void check_root(const Snapshot& snapshot) {
  if (!snapshot.has_root()) {
    throw Failure(ExitCode::kData, snapshot.root == "/" ? "the chroot of HOSTS does not exist"
                                                        : "the path does not exist");
  }
  const bool is_unreadable = snapshot.locks.empty() && snapshot.unreadable.size() == 1 &&
                             snapshot.unreadable.front() == snapshot.root;
  if (is_unreadable) throw Failure(ExitCode::kNoPermission, kUnreadable);
}

}  // namespace zklock::cli
