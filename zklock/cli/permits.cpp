// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <memory>
#include <optional>
#include <string>

#include <CLI/CLI.hpp>

#include "zklock/cli/command_support.h"
#include "zklock/cli/core/failure.h"
#include "zklock/cli/core/json_text.h"
#include "zklock/cli/core/text.h"
#include "zklock/cli/survey_pass.h"
#include "zklock/semaphore.h"
#include "zklock/survey.h"

namespace zklock::cli {

namespace {

struct PermitOptions {
  std::string path;
  std::optional<int> set;
  std::optional<int> add;
  bool create = false;
};

/// Returns whether a count is stored. If none is, permits() returns the initial count.
bool has_count(Client& client, const std::string& path) {
  return Semaphore(client, path, SharedCount{.initial = 0}).permits() != 0 ||
         Semaphore(client, path, SharedCount{.initial = 1}).permits() != 1;
}

/// Reads the holders, and counts the waiting contenders.
SurveyedLock read_semaphore(Client& client, const std::string& path) {
  constexpr std::size_t kAll = std::numeric_limits<std::size_t>::max();
  return read_lock(client, path, kAll, 1).value_or(SurveyedLock());
}

/// Returns whether the contenders name the total in their znodes, as those of `run -k K/N`.
bool has_fixed_total(const SurveyedLock& lock) {
  return any_contender(lock, [](const Participant& each) {
    return each.access == Access::permits && each.node.find("-of-") != std::string::npos;
  });
}

/// Changes the shared count as wished. Returns it.
int change_count(Client& client, const PermitOptions& options) {
  Semaphore semaphore(client, options.path, SharedCount{.initial = 0});
  // A typing error in the path must create no semaphore.
  if (!options.create && !has_count(client, options.path)) {
    throw Failure(ExitCode::kData, "the semaphore has no shared count; --create makes one");
  }
  if (options.set) semaphore.set_permits(*options.set);
  if (options.add) (void)semaphore.add_permits(*options.add);
  return semaphore.permits();
}

int permits(const Settings& settings, const PermitOptions& options) {
  const bool changes = options.set || options.add;
  if (options.create && !changes) {
    throw Failure(ExitCode::kUsage, "--create needs --set or --add");
  }
  const auto client = view_client(settings);
  SurveyedLock lock = read_semaphore(*client, options.path);
  std::optional<int> count = lock.permits;
  if (!has_fixed_total(lock)) {
    count = change_count(*client, options);
    if (changes) lock = read_semaphore(*client, options.path);
  } else if (changes) {
    throw Failure(ExitCode::kData,
                  "the total is given by each contender (`run -k K/N`), so it is not stored and "
                  "cannot be changed here");
  }
  const std::int64_t held = held_permits(lock).value_or(0);  // all holders are described
  print_line(settings.json
                 ? json::permits(options.path, count, held, lock.state.waiting)
                 : (count ? counted(static_cast<std::size_t>(*count), "permit") : "? permits") +
                       ", " + std::to_string(held) + " held, " +
                       std::to_string(lock.state.waiting) + " waiting");
  return 0;
}

}  // namespace

Action declare_permits(CLI::App& options) {
  const auto given = std::make_shared<PermitOptions>();
  options.add_option("PATH", given->path, "Path of a semaphore")->required()->type_name("");
  auto* const set = options.add_option("--set", given->set, "Set the count")->type_name("N");
  set->check(CLI::Range(0, std::numeric_limits<int>::max()));
  options.add_option("--add", given->add, "Add to the count; may be negative")
      ->type_name("N")
      ->excludes(set);
  options.add_flag("--create", given->create,
                   "Create the count if none is stored; with --set or --add");
  return {&given->path,
          [given](const Invocation& invocation) { return permits(invocation.settings, *given); }};
}

}  // namespace zklock::cli
