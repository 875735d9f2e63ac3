// SPDX-License-Identifier: Apache-2.0
#include "zklock/cli/permits.h"

#include <cstddef>
#include <limits>
#include <memory>
#include <optional>
#include <string>

#include <CLI/CLI.hpp>

#include "zklock/cli/core/failure.h"
#include "zklock/cli/core/json_text.h"
#include "zklock/cli/view_support.h"
#include "zklock/semaphore.h"

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

int permits(const Settings& settings, const PermitOptions& options) {
  const auto client = view_client(settings, "zklock permits");
  Semaphore semaphore(*client, options.path, SharedCount{.initial = 0});
  // A typing error in the path must create no semaphore.
  if (!options.create && !has_count(*client, options.path)) {
    throw Failure(ExitCode::kData, "the semaphore has no shared count; --create makes one");
  }
  if (options.set) semaphore.set_permits(*options.set);
  if (options.add) semaphore.add_permits(*options.add);
  const int count = semaphore.permits();
  int held = 0;
  std::size_t waiting = 0;
  for (const Participant& each : semaphore.participants()) {
    held += each.holds ? each.permits : 0;
    waiting += each.holds ? 0 : 1;
  }
  print_line(settings.json ? json::permits(options.path, count, held, waiting)
                           : std::to_string(count) + " permits, " + std::to_string(held) +
                                 " held, " + std::to_string(waiting) + " waiting");
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
  options.add_flag("--create", given->create, "Also for a path without a count");
  return [given](const Invocation& invocation) {
    return run_view("permits", given->path, [&] { return permits(invocation.settings, *given); });
  };
}

}  // namespace zklock::cli
