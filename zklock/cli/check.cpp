// SPDX-License-Identifier: Apache-2.0
#include <chrono>
#include <cstddef>
#include <memory>
#include <optional>
#include <string>

#include <CLI/CLI.hpp>

#include "zklock/cli/command_support.h"
#include "zklock/cli/core/duration.h"
#include "zklock/cli/core/findings.h"
#include "zklock/cli/core/json_text.h"
#include "zklock/cli/core/text.h"
#include "zklock/cli/survey_pass.h"

namespace zklock::cli {

namespace {

constexpr std::size_t kMostWaiting = 1'000;  ///< described for cycles

struct CheckOptions {
  std::string root;
  std::optional<Duration> held_over;
  std::size_t rate = 2'000;
  Level fail_on = Level::warning;
};

std::string line_of(const Finding& finding) {
  const std::string place = finding.path.empty() ? std::string() : finding.path + ": ";
  return std::string(name_of(finding.level)) + "  " + display_text(place + finding.text);
}

int check(const Invocation& invocation, const CheckOptions& options) {
  const Settings& settings = invocation.settings;
  const auto client = view_client(settings);
  const Snapshot snapshot =
      read_snapshot(invocation, *client, options.root,
                    {.max_waiting = kMostWaiting, .requests_per_second = options.rate});
  check_root(snapshot);
  const auto found = findings(snapshot, options.held_over, std::chrono::system_clock::now());
  for (const Finding& each : found) {
    print_line(settings.json ? json::finding(each) : line_of(each));
  }
  const std::string checked = counted(snapshot.locks.size(), "lock") + " checked";
  if (settings.json && found.empty()) {
    print_line(json::finding({.level = Level::ok,
                              .kind = "checked",
                              .path = options.root,
                              .text = checked,
                              .paths = {}}));
  }
  if (!settings.json && !settings.quiet) print_line("ok    " + checked);
  return exit_code_of(found.empty() ? Level::ok : found.front().level, options.fail_on);
}

}  // namespace

Action declare_check(CLI::App& options) {
  const auto given = std::make_shared<CheckOptions>();
  options.add_option("ROOT", given->root, "Path above the locks")->required()->type_name("");
  declare_duration(options, "--held-over", "Warn of locks held for that long", given->held_over);
  options.add_option("--rate", given->rate, "Maximum of requests to ZooKeeper a second (2000)")
      ->check(CLI::PositiveNumber);
  declare_fail_on(options, given->fail_on);
  return {&given->root,
          [given](const Invocation& invocation) { return check(invocation, *given); }};
}

}  // namespace zklock::cli
