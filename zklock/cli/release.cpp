// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <chrono>
#include <cstddef>
#include <future>
#include <iostream>
#include <memory>
#include <string>
#include <vector>

#include <CLI/CLI.hpp>
#include <unistd.h>

#include "zklock/cli/command_support.h"
#include "zklock/cli/core/duration.h"
#include "zklock/cli/core/failure.h"
#include "zklock/cli/core/json_text.h"
#include "zklock/cli/core/lock_facts.h"
#include "zklock/cli/core/text.h"
#include "zklock/cli/io/standard_streams.h"
#include "zklock/cli/survey_pass.h"
#include "zklock/evict.h"
#include "zklock/lock_state.h"
#include "zklock/release_request.h"

namespace zklock::cli {

namespace {

constexpr std::size_t kMostAtOnce = 100;    ///< targets of --all
constexpr std::size_t kMostRead = 100'000;  ///< contenders

struct ReleaseOptions {
  std::string path;
  bool request = false;
  bool force = false;
  bool evict = false;
  bool after_force = false;
  bool yes = false;
  bool all = false;
  std::string node;
  Duration wait = std::chrono::seconds(30);
};

void check_options(const ReleaseOptions& options) {
  if (options.evict && options.node.empty()) refuse("--evict needs --node");
  if (options.after_force && !options.evict) refuse("--after-force is for --evict");
}

/// Returns the name of the znode in --node, which can also be a path, as in ZKLOCK_NODE.
std::string node_of(const ReleaseOptions& options) {
  const std::string folder = options.path == "/" ? "/" : options.path + "/";
  std::string node =
      options.node.starts_with(folder) ? options.node.substr(folder.size()) : options.node;
  if (node.find('/') == std::string::npos) return node;
  refuse("--node " + display_text(options.node) + " is not below the path");
}

/// The lock, and the contenders that are to release: the named one, else the first holder or, with
/// --all, the first 100.
struct Found {
  LockState state;
  std::vector<Participant> targets;
};

Found find_targets(Client& client, const ReleaseOptions& options) {
  const auto lock =
      read_lock(client, options.path, kMostRead, options.node.empty() ? 0 : kMostRead);
  if (!lock) return {};
  Found found{lock->state, lock->state.holders};
  if (!options.node.empty()) {
    found.targets.insert(found.targets.end(), lock->waiters.begin(), lock->waiters.end());
    std::erase_if(found.targets,
                  [&](const Participant& each) { return each.node != options.node; });
  }
  const std::size_t most = options.all ? kMostAtOnce : 1;
  if (found.targets.size() > most) found.targets.resize(most);
  for (const Participant& each : found.targets) {
    if (!is_unreadable(each)) continue;
    throw Failure(ExitCode::kNoPermission, "no READ permission for the znode " + each.node);
  }
  return found;
}

bool is_same(const Participant& a, const Participant& b) {
  return a.token == b.token && a.session_id == b.session_id;
}

/// Refuses what cannot help, or harms without need.
void check_target(const ReleaseOptions& options, const Participant& target) {
  const Library library = library_of(target);
  if (library == Library::zklock) {
    if (options.evict && !options.after_force) {
      refuse(
          "the contender is of zklock: use --force first, and --after-force if that did not help");
    }
  } else if (!options.evict) {
    throw Failure(ExitCode::kData,
                  "clients of " + std::string(name_of(library)) +
                      " cannot receive a request. End its program; --evict --node " + target.node +
                      " deletes the znode, but then two can hold");
  }
}

/// Returns the question before a harm.
std::string question(const ReleaseOptions& options, const std::vector<Participant>& targets) {
  const Participant& first = targets.front();
  const std::string whose =
      display_text(options.path) + ": " + text_of(first) + ", " + first.node +
      (targets.size() > 1 ? " and " + std::to_string(targets.size() - 1) + " more" : "") + ": ";
  if (options.evict) return whose + "delete its znode? Then two contenders can hold at one time.";
  return whose + (first.holds ? "take the lock away? This ends the work under it."
                              : "take its place in the queue away?");
}

/// Waits for a confirmation if there is harm. Then reads the targets again: meanwhile the path can
/// have been recreated, with other contenders of these names.
void confirm(Client& client, const ReleaseOptions& options,
             const std::vector<Participant>& targets) {
  if (options.yes || !(options.force || options.evict)) return;
  if (::isatty(STDIN_FILENO) == 0) refuse("without a terminal, --force and --evict need --yes");
  std::cerr << "zklock: " << question(options, targets) << " (yes/no) " << std::flush;
  std::string answer;
  std::getline(std::cin, answer);
  if (answer != "yes") refuse("not confirmed");
  if (!std::ranges::equal(targets, find_targets(client, options).targets, is_same)) {
    throw Failure(ExitCode::kData, "another contender holds or waits now; nothing was done");
  }
}

bool release_by(Client& client, const ReleaseOptions& options, const Participant& target,
                Deadline deadline) {
  if (options.evict) return evict(client, options.path, target, deadline);
  return request_release(client, options.path,
                         {.force = options.force, .node = target.node, .deadline = deadline});
}

/// Waits for all targets at one time. Returns the ones that have not released.
std::vector<Participant> release_all(Client& client, const ReleaseOptions& options,
                                     const std::vector<Participant>& targets) {
  const Deadline deadline = options.wait;
  const auto policy = targets.size() == 1 ? std::launch::deferred : std::launch::async;
  std::vector<std::future<bool>> results;
  for (const Participant& each : targets) {
    results.push_back(
        std::async(policy, [&, deadline] { return release_by(client, options, each, deadline); }));
  }
  std::vector<Participant> rest;
  for (std::size_t i = 0; i < results.size(); ++i) {
    if (!results[i].get()) rest.push_back(targets[i]);
  }
  (void)client.flush(std::chrono::seconds(1));
  return rest;
}

/// The result of the command.
struct Outcome {
  const char* name;
  std::string text;
  int exit_code;
};

Outcome no_target(const ReleaseOptions& options, const Found& found) {
  if (!options.node.empty()) return {"no_such_contender", "no such contender", ExitCode::kData};
  const LockState& state = found.state;
  if (state.waiting == 0 && !state.lock_delay) return {"free", "free", 0};
  return {"not_held",
          (state.lock_delay ? delay_text(*state.lock_delay) : "not held") + "; " +
              std::to_string(state.waiting) + " waiting",
          ExitCode::kNotAcquired};
}

/// `holding`: earlier holders that still hold.
Outcome released(const ReleaseOptions& options, std::size_t count, Duration waited,
                 std::size_t holding) {
  std::string text = count == 1 ? "released" : counted(count, "holder") + " released";
  text += " after " + text_of(waited);
  if (holding > 0) {
    text += "; " + counted(holding, "other holder still holds", "other holders still hold") +
            (options.all ? "" : ": --all releases all");
  }
  return {"released", text, 0};
}

Outcome not_released(const ReleaseOptions& options, const std::vector<Participant>& rest) {
  if (options.evict) {
    return {"no_such_contender", "the znode is of another contender now", ExitCode::kData};
  }
  std::string text = "not released in " + text_of(options.wait);
  text += (rest.front().holds ? ": held by " : ": waiting: ") + text_of(rest.front());
  if (rest.size() > 1) text += " and " + std::to_string(rest.size() - 1) + " more";
  if (!options.force) text += "; --force ends the hold";
  return {"not_released", text, ExitCode::kNotAcquired};
}

/// Returns how many of these holders still hold, apart from one that was named.
std::size_t still_holding(Client& client, const ReleaseOptions& options,
                          const std::vector<Participant>& holders) {
  if (!options.node.empty() || holders.size() < 2) return 0;
  const Found now = find_targets(client, options);
  return static_cast<std::size_t>(std::ranges::count_if(holders, [&now](const Participant& old) {
    return std::ranges::any_of(now.state.holders,
                               [&old](const Participant& each) { return is_same(each, old); });
  }));
}

/// Prints the text, or throws it.
int report_outcome(const Settings& settings, const Outcome& outcome) {
  if (outcome.exit_code != 0) throw Failure(outcome.exit_code, outcome.text);
  if (!settings.json) print_line(outcome.text);
  return 0;
}

int release(const Settings& settings, ReleaseOptions options) {
  check_options(options);
  options.node = node_of(options);
  const auto client = view_client(settings);
  const auto begin = LeaseClock::now();
  const Found found = find_targets(*client, options);
  const auto& targets = found.targets;
  const auto print = [&](const std::string& node, const Outcome& outcome, std::size_t holding) {
    const auto waited =
        std::chrono::duration_cast<std::chrono::milliseconds>(LeaseClock::now() - begin);
    if (!settings.json) return;
    print_line(json::release(options.path, node, outcome.name, waited, holding));
  };
  if (targets.empty()) {
    const Outcome outcome = no_target(options, found);
    print(options.node, outcome, 0);
    return report_outcome(settings, outcome);
  }
  for (const Participant& each : targets) check_target(options, each);
  for (const Participant& each : targets) {
    if (settings.json || settings.quiet) break;
    write_line("zklock: release: " + text_of(each) + ", " + each.node);
  }
  confirm(*client, options, targets);
  const auto sent = LeaseClock::now();
  const auto rest = release_all(*client, options, targets);
  const Duration waited = LeaseClock::now() - sent;
  const std::size_t holding = still_holding(*client, options, found.state.holders);
  const Outcome success = released(options, targets.size(), waited, holding);
  const Outcome failure = rest.empty() ? success : not_released(options, rest);
  for (const Participant& each : targets) {
    print(each.node, std::ranges::count(rest, each) > 0 ? failure : success, holding);
  }
  return report_outcome(settings, failure);
}

}  // namespace

Action declare_release(CLI::App& options) {
  const auto given = std::make_shared<ReleaseOptions>();
  options.add_option("PATH", given->path, "Path of the lock")->required()->type_name("");
  auto* const request = options.add_flag(
      "--request", given->request, "Send a request; the program of the holder decides (default)");
  auto* const force = options.add_flag(
      "--force", given->force, "End the hold, then delete its znode: no two contenders hold");
  options
      .add_flag("--evict", given->evict,
                "Delete the znode. Another contender can hold at the same time")
      ->excludes(force)
      ->excludes(request);
  force->excludes(request);
  options.add_flag("--after-force", given->after_force,
                   "With --evict: for a znode of zklock that --force did not free");
  auto* const node =
      options
          .add_option("--node", given->node,
                      "Znode of the contender, as in ZKLOCK_NODE (default: the first holder)")
          ->type_name("NODE");
  declare_duration(options, "-w,--wait", "How long to wait (30s)", given->wait);
  options.add_flag("--all", given->all, "All holders, at most 100, not only the first")
      ->excludes(node);
  options.add_flag("--yes", given->yes, "Do not wait for a confirmation");
  return {&given->path,
          [given](const Invocation& invocation) { return release(invocation.settings, *given); }};
}

}  // namespace zklock::cli
