// SPDX-License-Identifier: Apache-2.0
#include "zklock/cli/list.h"

#include <chrono>
#include <cstddef>
#include <limits>
#include <memory>
#include <string>
#include <vector>

#include <CLI/CLI.hpp>

#include "zklock/cli/core/duration.h"
#include "zklock/cli/core/failure.h"
#include "zklock/cli/core/json_text.h"
#include "zklock/cli/core/lock_rows.h"
#include "zklock/cli/core/lock_tables.h"
#include "zklock/cli/core/snapshot.h"
#include "zklock/cli/survey_pass.h"
#include "zklock/cli/view_support.h"

namespace zklock::cli {

namespace {

constexpr std::size_t kMostDescribed = 100;  ///< contenders of a lock without --all

struct ListOptions {
  std::string path;
  bool recursive = false;
  bool all = false;
  std::string held_over;
  std::string host;
};

RowFilter filter_of(const ListOptions& options) {
  RowFilter filter;
  if (!options.held_over.empty()) {
    filter.held_over =
        std::chrono::duration_cast<std::chrono::milliseconds>(parse_duration(options.held_over));
  }
  filter.host = options.host;
  return filter;
}

/// `known`: one_lock if too few locks were read for cycles.
void print_json(const Snapshot& snapshot, const std::vector<const SurveyedLock*>& rows,
                json::Known known) {
  const CycleMarks marks = cycle_marks(snapshot.cycles);
  for (const SurveyedLock* const row : rows) {
    print_line(json::lock(*row, mark_of(marks, row->path), snapshot.as_of, known));
  }
}

int list(const Settings& settings, const ListOptions& options) {
  const RowFilter filter = filter_of(options);
  const auto client = view_client(settings, "zklock ls");
  SurveyOptions limits;
  limits.max_waiting = options.all ? std::numeric_limits<std::size_t>::max() : kMostDescribed;
  limits.max_holders = limits.max_waiting;
  limits.max_depth = options.recursive ? limits.max_depth : 0;
  Snapshot snapshot = read_snapshot(*client, options.path, limits);
  const bool is_lock = !snapshot.locks.empty() && !options.recursive;
  if (snapshot.locks.empty() && !options.recursive) {
    limits.max_depth = 1;
    snapshot = read_snapshot(*client, options.path, limits);
  }
  if (snapshot.locks.empty()) {
    if (!snapshot.unreadable.empty()) {
      throw Failure(ExitCode::kNoPermission, "no READ permission");
    }
    throw Failure(ExitCode::kData, "no lock here, and none below");
  }
  if (!options.recursive) snapshot.too_deep.clear();  // not wanted
  report_unread("ls " + options.path, snapshot);
  const auto rows = lock_rows(snapshot.locks, filter, RowOrder::path, snapshot.as_of);
  if (settings.json) {
    print_json(snapshot, rows, is_lock ? json::Known::one_lock : json::Known::all);
  } else if (is_lock && !rows.empty()) {
    print_table(contender_table(snapshot.locks.front(), snapshot.as_of));
    const std::string rest = rest_text(snapshot.locks.front());
    if (!rest.empty()) print_line(rest);
  } else {
    print_table(lock_table(rows, snapshot.as_of));
  }
  return 0;
}

}  // namespace

Action declare_list(CLI::App& options) {
  const auto given = std::make_shared<ListOptions>();
  options.add_option("PATH", given->path, "A lock, or a path above locks")
      ->required()
      ->type_name("");
  options.add_flag("-R,--recursive", given->recursive, "All locks below the path");
  options.add_flag("--all", given->all, "All contenders, not only the first 100");
  options.add_option("--held-over", given->held_over, "Only locks held for that long")
      ->type_name("DUR");
  options.add_option("--host", given->host, "Only locks with a contender of that host")
      ->type_name("HOST");
  return [given](const Invocation& invocation) {
    return run_view("ls", given->path, [&] { return list(invocation.settings, *given); });
  };
}

}  // namespace zklock::cli
