// SPDX-License-Identifier: Apache-2.0
#include "zklock/cli/release.h"

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <initializer_list>
#include <iostream>
#include <memory>
#include <optional>
#include <string>

#include <CLI/CLI.hpp>
#include <unistd.h>

#include "zklock/cli/core/display_text.h"
#include "zklock/cli/core/duration.h"
#include "zklock/cli/core/failure.h"
#include "zklock/cli/core/json_text.h"
#include "zklock/cli/core/lock_facts.h"
#include "zklock/cli/io/standard_streams.h"
#include "zklock/cli/survey_pass.h"
#include "zklock/cli/view_support.h"
#include "zklock/evict.h"
#include "zklock/release_request.h"

namespace zklock::cli {

namespace {

struct ReleaseOptions {
  std::string path;
  bool request = false;
  bool force = false;
  bool evict = false;
  bool after_force = false;
  bool yes = false;
  std::string node;
  std::string wait = "30s";
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

/// The lock, and the contender that is to release: the named one, else the first holder.
struct Target {
  std::optional<Participant> contender;
  std::size_t waiting = 0;
  bool is_delayed = false;
};

Target find_target(Client& client, const ReleaseOptions& options) {
  SurveyOptions limits;
  limits.max_depth = 0;
  limits.max_holders = options.node.empty() ? 1 : 100'000;
  limits.max_waiting = options.node.empty() ? 0 : 100'000;
  const Snapshot snapshot = read_snapshot(client, options.path, limits);
  if (!snapshot.unreadable.empty()) throw Failure(ExitCode::kNoPermission, "no READ permission");
  if (snapshot.locks.empty()) return {};
  const SurveyedLock& lock = snapshot.locks.front();
  Target target{.contender = {}, .waiting = lock.state.waiting, .is_delayed = lock.is_delayed};
  for (const auto* const list : {&lock.state.holders, &lock.waiters}) {
    const auto found = options.node.empty()
                           ? list->begin()
                           : std::ranges::find(*list, options.node, &Participant::node);
    if (found != list->end() && !target.contender) target.contender = *found;
  }
  if (target.contender && is_unreadable(*target.contender)) {
    throw Failure(ExitCode::kNoPermission,
                  "no READ permission for the znode " + target.contender->node);
  }
  return target;
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
std::string question(const ReleaseOptions& options, const Participant& target) {
  const std::string whose =
      display_text(options.path) + ": " + text_of(target) + ", " + target.node + ": ";
  if (options.evict) return whose + "delete its znode? Then two contenders can hold at one time.";
  return whose + (target.holds ? "take the lock away? This ends the work under it."
                               : "take its place in the queue away?");
}

/// Waits for a confirmation if there is harm. Then reads the target again: meanwhile the path can have
/// been recreated, with another contender of that name.
void confirm(Client& client, const ReleaseOptions& options, const Participant& target) {
  if (options.yes || !(options.force || options.evict)) return;
  if (::isatty(STDIN_FILENO) == 0) refuse("without a terminal, --force and --evict need --yes");
  std::cerr << "zklock: " << question(options, target) << " (yes/no) " << std::flush;
  std::string answer;
  std::getline(std::cin, answer);
  if (answer != "yes") refuse("not confirmed");
  const auto now = find_target(client, options).contender;
  if (!now || now->token != target.token || now->session_id != target.session_id) {
    throw Failure(ExitCode::kData, "another contender holds or waits now; nothing was done");
  }
}

bool release_by(Client& client, const ReleaseOptions& options, const Participant& target,
                Duration wait) {
  if (options.evict) return evict(client, options.path, target, wait);
  return request_release(client, options.path,
                         {.force = options.force, .node = target.node, .deadline = wait});
}

/// The result of a command that found no target.
struct NoTarget {
  const char* outcome;
  std::string text;
  int exit_code;
};

NoTarget no_target(const ReleaseOptions& options, const Target& found) {
  if (!options.node.empty()) return {"no_such_contender", "no such contender", ExitCode::kData};
  if (found.waiting == 0 && !found.is_delayed) return {"free", "free", 0};
  return {"not_held", "not held; " + std::to_string(found.waiting) + " waiting",
          ExitCode::kNotAcquired};
}

int release(const Settings& settings, ReleaseOptions options) {
  check_options(options);
  options.node = node_of(options);
  const Duration wait = parse_duration(options.wait);
  const auto client = view_client(settings, "zklock release");
  const auto begin = LeaseClock::now();
  const Target found = find_target(*client, options);
  const auto& target = found.contender;
  const std::string node = target ? target->node : options.node;
  // Prints the result. With a failure, its text is that of the failure.
  const auto report = [&](const char* outcome, const std::string& text, int exit_code) {
    const auto waited =
        std::chrono::duration_cast<std::chrono::milliseconds>(LeaseClock::now() - begin);
    if (settings.json) print_line(json::release(options.path, node, outcome, waited));
    if (exit_code != 0) throw Failure(exit_code, text);
    if (!settings.json) print_line(text);
    return 0;
  };
  if (!target) {
    const NoTarget why = no_target(options, found);
    return report(why.outcome, why.text, why.exit_code);
  }
  check_target(options, *target);
  if (!settings.json && !settings.quiet) {
    write_line("zklock: release: " + text_of(*target) + ", " + target->node);
  }
  confirm(*client, options, *target);
  const auto sent = LeaseClock::now();
  const bool is_released = release_by(*client, options, *target, wait);
  (void)client->flush(std::chrono::seconds(1));
  if (is_released) {
    return report("released", "released after " + text_of(LeaseClock::now() - sent), 0);
  }
  if (options.evict) {
    return report("no_such_contender", "the znode is of another contender now", ExitCode::kData);
  }
  return report("not_released",
                "not released in " + text_of(wait) +
                    (target->holds ? ": held by " : ": waiting: ") + text_of(*target),
                ExitCode::kNotAcquired);
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
  options
      .add_option("--node", given->node,
                  "Znode of the contender, as in ZKLOCK_NODE (default: the first holder)")
      ->type_name("NODE");
  options.add_option("-w,--wait", given->wait, "How long to wait (30s)")->type_name("DUR");
  options.add_flag("--yes", given->yes, "Do not wait for a confirmation");
  return [given](const Invocation& invocation) {
    return run_view("release", given->path, [&] { return release(invocation.settings, *given); });
  };
}

}  // namespace zklock::cli
