// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cstddef>
#include <limits>
#include <memory>
#include <string>

#include <CLI/CLI.hpp>

#include "zklock/cli/command_support.h"
#include "zklock/cli/core/duration.h"
#include "zklock/cli/core/failure.h"
#include "zklock/cli/core/json_text.h"
#include "zklock/cli/core/lock_selection.h"
#include "zklock/cli/core/lock_tables.h"
#include "zklock/cli/core/snapshot.h"
#include "zklock/cli/core/text.h"
#include "zklock/cli/survey_pass.h"

namespace zklock::cli {

namespace {

constexpr std::size_t kMostDescribed = 100;  ///< contenders of a lock without --all
constexpr std::size_t kMostListed = 1'000;   ///< locks without --all and -R

struct ListOptions {
  std::string path = "/";
  RowOrder order = RowOrder::path;
  bool recursive = false;
  bool all = false;
  RowFilter filter;
};

void list_contenders(const Settings& settings, const RowFilter& filter, const Snapshot& snapshot) {
  const SurveyedLock& lock = snapshot.locks.front();
  const LockRows rows = lock_rows(snapshot.locks, filter, RowOrder::path, snapshot.as_of);
  if (rows.empty()) return print_locks(settings, snapshot, rows);
  if (settings.json) {
    return print_line(json::lock(lock, nullptr, snapshot.as_of, json::Known::one_lock));
  }
  print_table(contender_table(lock, snapshot.as_of));
  const std::string rest = rest_text(lock);
  if (!rest.empty()) print_line(rest);
}

/// Says why there is no row.
[[noreturn]] void refuse_empty(const Snapshot& snapshot) {
  if (!snapshot.unreadable.empty()) throw Failure(ExitCode::kNoPermission, "no READ permission");
  if (snapshot.root == "/") check_root(snapshot);
  throw Failure(ExitCode::kData, snapshot.too_deep.empty()
                                     ? "no lock here, and none below"
                                     : "no lock here, and none in the levels below that were read");
}

void list_locks(const Invocation& invocation, const ListOptions& options,
                const Snapshot& snapshot) {
  const Settings& settings = invocation.settings;
  report_unread(invocation, snapshot);
  if (snapshot.locks.empty()) refuse_empty(snapshot);
  auto rows = lock_rows(snapshot.locks, options.filter, options.order, snapshot.as_of);
  const std::size_t count = rows.size();
  const bool is_cut = !options.recursive && !options.all && !settings.json;
  if (is_cut) rows.resize(std::min(count, kMostListed));
  print_locks(settings, snapshot, rows);
  if (const std::size_t more = count - rows.size(); more > 0) {
    print_line("and " + counted(more, "more lock") + ": --all lists all");
  }
}

int list(const Invocation& invocation, const ListOptions& options) {
  const auto client = view_client(invocation.settings);
  const std::size_t most = options.all ? std::numeric_limits<std::size_t>::max() : kMostDescribed;
  const SurveyOptions limits{.max_holders = most, .max_waiting = most};
  if (!options.recursive) {
    SurveyOptions one = limits;
    one.max_depth = 0;
    const Snapshot snapshot = read_snapshot(*client, options.path, one);
    if (!snapshot.locks.empty()) {
      list_contenders(invocation.settings, options.filter, snapshot);
      return 0;
    }
  }
  list_locks(invocation, options, read_snapshot(invocation, *client, options.path, limits));
  return 0;
}

}  // namespace

Action declare_list(CLI::App& options) {
  const auto given = std::make_shared<ListOptions>();
  options.add_option("PATH", given->path, "A lock, or a path above locks (/)")->type_name("");
  options.add_flag("-R,--recursive", given->recursive,
                   "All locks below the path, even if it is a lock");
  options.add_flag("--all", given->all,
                   "All contenders, not only the first 100; all locks, not only 1,000");
  declare_sort(options, given->order);
  declare_duration(options, "--held-over", "Only locks held for that long",
                   given->filter.held_over);
  options.add_option("--host", given->filter.host, "Only locks with a contender of that host")
      ->type_name("HOST");
  return {&given->path, [given](const Invocation& invocation) { return list(invocation, *given); }};
}

}  // namespace zklock::cli
