// SPDX-License-Identifier: Apache-2.0
#include "zklock/cli/release.h"

#include <algorithm>
#include <chrono>
#include <initializer_list>
#include <iostream>
#include <memory>
#include <optional>
#include <string>

#include <CLI/CLI.hpp>
#include <unistd.h>

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

[[noreturn]] void refuse(const std::string& text) {
  throw Failure(ExitCode::kUsage, text);
}

void check_options(const ReleaseOptions& options) {
  if (options.evict && options.node.empty()) refuse("--evict needs --node");
  if (options.after_force && !options.evict) refuse("--after-force is for --evict");
}

/// Returns the contender that is to release: the named one, else the first holder.
std::optional<Participant> find_target(Client& client, const ReleaseOptions& options) {
  SurveyOptions limits;
  limits.max_depth = 0;
  limits.max_holders = limits.max_waiting = 100'000;
  const Snapshot snapshot = read_snapshot(client, options.path, limits);
  if (!snapshot.unreadable.empty()) throw Failure(ExitCode::kNoPermission, "no READ permission");
  if (snapshot.locks.empty()) return std::nullopt;
  const SurveyedLock& lock = snapshot.locks.front();
  if (options.node.empty()) {
    if (lock.state.holders.empty()) return std::nullopt;
    return lock.state.holders.front();
  }
  for (const auto* const list : {&lock.state.holders, &lock.waiting}) {
    const auto found = std::ranges::find(*list, options.node, &Participant::node);
    if (found != list->end()) return *found;
  }
  return std::nullopt;
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
    throw Failure(ExitCode::kData, "the contender is of " + std::string(name_of(library)) +
                                       ", which watches for no request; --evict deletes its znode");
  }
}

void confirm(const ReleaseOptions& options, const Participant& target) {
  if (options.yes || !(options.force || options.evict)) return;
  if (::isatty(STDIN_FILENO) == 0) refuse("without a terminal, --force and --evict need --yes");
  std::cerr << "zklock: " << (options.evict ? "delete the znode of " : "take the lock from ")
            << text_of(target) << ", " << target.node << "? (yes/no) " << std::flush;
  std::string answer;
  std::getline(std::cin, answer);
  if (answer != "yes") refuse("not confirmed");
}

bool release_by(Client& client, const ReleaseOptions& options, const Participant& target,
                Duration wait) {
  if (options.evict) return evict(client, options.path, target, wait);
  return request_release(client, options.path,
                         {.force = options.force, .node = target.node, .deadline = wait});
}

int release(const Settings& settings, const ReleaseOptions& options) {
  check_options(options);
  const Duration wait = parse_duration(options.wait);
  const auto client = view_client(settings, "zklock release");
  const auto begin = LeaseClock::now();
  const auto target = find_target(*client, options);
  const std::string node = target ? target->node : options.node;
  const auto report = [&](const char* outcome, const std::string& text) {
    const auto waited =
        std::chrono::duration_cast<std::chrono::milliseconds>(LeaseClock::now() - begin);
    if (settings.json) {
      print_line(json::release(options.path, node, outcome, waited));
    } else {
      print_line(text);
    }
  };
  if (!target) {
    report("free", options.node.empty() ? "free" : "no such contender");
    return 0;
  }
  check_target(options, *target);
  if (!settings.json && !settings.quiet) {
    write_line("zklock: release: " + text_of(*target) + ", " + target->node);
  }
  confirm(options, *target);
  const auto sent = LeaseClock::now();
  const bool is_released = release_by(*client, options, *target, wait);
  (void)client->flush(std::chrono::seconds(1));
  if (is_released) {
    report("released", "released after " + text_of(LeaseClock::now() - sent));
    return 0;
  }
  if (options.evict) throw Failure(ExitCode::kData, "the znode is of another contender now");
  if (settings.json) report("not_released", {});
  throw Failure(ExitCode::kNotAcquired,
                "not released in " + text_of(wait) + ": held by " + text_of(*target));
}

}  // namespace

Action declare_release(CLI::App& options) {
  const auto given = std::make_shared<ReleaseOptions>();
  options.add_option("PATH", given->path, "Path of the lock")->required()->type_name("");
  auto* const request =
      options.add_flag("--request", given->request, "The program decides (default)");
  auto* const force =
      options.add_flag("--force", given->force, "The hold is lost first, so this is safe");
  options
      .add_flag("--evict", given->evict,
                "Delete the znode. Another contender can hold at the same time")
      ->excludes(force)
      ->excludes(request);
  force->excludes(request);
  options.add_flag("--after-force", given->after_force, "Evict although it is of zklock");
  options.add_option("--node", given->node, "The contender, by its znode (the first holder)")
      ->type_name("NODE");
  options.add_option("-w,--wait", given->wait, "How long to wait (30s)")->type_name("DUR");
  options.add_flag("--yes", given->yes, "Do not wait for a confirmation");
  return [given](const Invocation& invocation) {
    return run_view("release", given->path, [&] { return release(invocation.settings, *given); });
  };
}

}  // namespace zklock::cli
