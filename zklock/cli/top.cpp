// SPDX-License-Identifier: Apache-2.0
#include <chrono>
#include <cstddef>
#include <memory>
#include <optional>
#include <string>
#include <utility>

#include <CLI/CLI.hpp>
#include <signal.h>
#include <unistd.h>

#include "zklock/cli/command_support.h"
#include "zklock/cli/core/duration.h"
#include "zklock/cli/core/failure.h"
#include "zklock/cli/core/json_text.h"
#include "zklock/cli/core/lock_selection.h"
#include "zklock/cli/core/run_fsm.h"
#include "zklock/cli/core/top_view.h"
#include "zklock/cli/io/events.h"
#include "zklock/cli/io/terminal.h"
#include "zklock/cli/survey_pass.h"
#include "zklock/cli/survey_thread.h"

namespace zklock::cli {

namespace {

/// Requests a second of a screen, which reads for hours. One pass has the rate of `ls`.
constexpr std::size_t kRateOfScreen = 500;

struct TopOptions {
  std::string root;
  Duration interval = std::chrono::seconds(2);
  RowOrder order = RowOrder::held;
  std::optional<std::size_t> rate;
};

WallTime wall_now() {
  return std::chrono::system_clock::now();
}

/// Without a terminal: one pass.
int print_once(const Invocation& invocation, const TopOptions& options,
               const SurveyOptions& limits) {
  const auto client = view_client(invocation.settings);
  const Snapshot snapshot = read_snapshot(invocation, *client, options.root, limits);
  check_root(snapshot);
  report_unread(invocation, snapshot);
  print_locks(invocation.settings, snapshot,
              lock_rows(snapshot.locks, {}, options.order, snapshot.as_of));
  return 0;
}

int run_screen(Client& client, SignalReader& signals, const SurveyThread::Plan& plan,
               RowOrder order) {
  TopView view(plan.root, order);
  TaskQueue tasks;
  SurveyThread passes(
      client, plan,
      [&](std::shared_ptr<const Snapshot> snapshot) {
        tasks.replace([&view, snapshot = std::move(snapshot)] { view.on_snapshot(snapshot); });
      },
      [&](std::string error) {
        tasks.post([&view, error = std::move(error)] { view.on_problem(error); });
      });
  Terminal terminal;
  Waiter waiter;
  for (;;) {
    const auto [columns, lines] = terminal.size();
    terminal.show(view.lines(columns, lines, wall_now()));
    waiter.wait({STDIN_FILENO, signals.fd(), tasks.fd()},
                LeaseClock::now() + std::chrono::seconds(1));
    while (const auto signal = signals.next()) {
      if (ends_wait(signal->number)) return 0;
      if (signal->number == SIGTSTP) terminal.suspend();  // Ctrl-Z
      // The others are a resize, or the return to the foreground: the screen is drawn again.
    }
    for (const auto& task : tasks.take()) task();
    const auto keys = terminal.read_keys();
    if (!keys) return 0;
    for (const Key key : *keys) {
      switch (view.on_key(key, wall_now())) {
        case TopView::Effect::end: return 0;
        case TopView::Effect::pass: passes.hurry(); break;
        case TopView::Effect::none: break;
      }
    }
  }
}

int top(const Invocation& invocation, const TopOptions& options) {
  SurveyOptions limits{.max_waiting = kMostShownWaiting};
  const bool is_screen = !invocation.settings.json && Terminal::is_there();
  if (is_screen) limits.requests_per_second = kRateOfScreen;
  if (options.rate) limits.requests_per_second = *options.rate;
  if (!is_screen) return print_once(invocation, options, limits);
  SignalReader signals({SIGTSTP});  // before the client has threads
  const auto client = view_client(invocation.settings);
  return run_screen(*client, signals, {options.root, limits, options.interval}, options.order);
}

}  // namespace

Action declare_top(CLI::App& options) {
  const auto given = std::make_shared<TopOptions>();
  options.add_option("ROOT", given->root, "Path above the locks")->required()->type_name("");
  declare_duration(options, "-i,--interval", "Time from the begin of a pass to the next (2s)",
                   given->interval, std::chrono::milliseconds(100));
  options
      .add_option("--rate", given->rate,
                  "Maximum of requests to ZooKeeper a second (500; without a terminal 2000)")
      ->check(CLI::Range(1, 1'000'000));
  declare_sort(options, given->order);
  return {&given->root, [given](const Invocation& invocation) { return top(invocation, *given); }};
}

}  // namespace zklock::cli
