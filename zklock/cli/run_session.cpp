// SPDX-License-Identifier: Apache-2.0
#include "zklock/cli/run_session.h"

#include <string>
#include <utility>

#include <CLI/CLI.hpp>
#include <signal.h>
#include <sys/wait.h>

#include "zklock/cli/command_support.h"
#include "zklock/cli/core/failure.h"
#include "zklock/cli/core/text.h"
#include "zklock/cli/io/standard_streams.h"

namespace zklock::cli {

namespace {

/// Returns whether the command may have left the terminal in a mode of its own.
bool was_killed(const RunFacts& facts) {
  return facts.kill_at || (facts.status && WIFSIGNALED(*facts.status));
}

// With a terminal, the command stays in the group of zklock. Otherwise it would stop when it reads
// the terminal.
GuardedCommand guarded_command(const RunOptions& options, const SignalReader& signals,
                               bool shares_terminal, bool is_repeated) {
  GuardedCommand command;
  command.program = options.program;
  command.arguments = options.command;
  command.term_signal = options.term_signal;
  command.signal_mask = signals.old_mask();
  command.ignores_children = signals.ignored_children();
  command.in_own_group = !shares_terminal;
  command.is_repeated = is_repeated;
  command.said_if_killed =
      "zklock: " + display_text(options.place) +
      ": zklock was killed, so the command was ended; the lock becomes free when the session ends";
  return command;
}

int run_with(const RunOptions& options) {
  RunSession session(options, false);
  return session.end(
      session.run(make_contender(session.client(), options.path, options.lock)).exit_code);
}

}  // namespace

RunSession::RunSession(const RunOptions& options, bool is_repeated)
    : options_(options),
      is_repeated_(is_repeated),
      report_(options.report.empty() ? nullptr : std::make_unique<ReportFile>(options.report)),
      guardian_(guarded_command(options, signals_, terminal_.exists(), is_repeated)),
      client_(run_client_options(options)) {}

RunFacts RunSession::run(LockFunction acquire, std::function<void(RunState)> on_state) {
  while (guardian_.next_notice()) {  // about an earlier command
  }
  RunFacts facts = Run(*this, std::move(acquire), std::move(on_state)).go();
  if (was_killed(facts)) terminal_.restore();
  if (report_ && (facts.granted_at || !has_report_)) {
    has_report_ = true;
    try {
      report_->write(report_text(facts));
    } catch (const Failure& failure) {
      write_line(std::string("zklock: ") + failure.what());
    }
  }
  return facts;
}

std::optional<int> RunSession::pause(Duration time) {
  const Instant until = LeaseClock::now() + time;
  while (true) {
    while (const auto signal = signals_.next()) {
      if (signal->number == SIGHUP && ignores_hangup()) continue;
      if (ends_wait(signal->number)) return signal->number;
    }
    while (guardian_.next_notice()) {
    }
    if (guardian_.has_ended() || LeaseClock::now() >= until) return std::nullopt;
    waiter_.wait({guardian_.fd(), signals_.fd()}, until);
  }
}

int RunSession::end(int exit_code) {
  guardian_.finish();
  return end_with(client_, exit_code);
}

Action declare_run(CLI::App& options) {
  const auto to = std::make_shared<RunOptions>();
  declare_lock_options(options, *to);
  declare_option(
      options, "-E,--conflict-exit-code", "CODE", "Exit code if not acquired (75)",
      [to](const auto& text) { to->code_if_not_acquired = option_number("-E", text, 0, 255); });
  declare_option(options, "-c,--command", "STRING", "Run STRING by /bin/sh",
                 [to](const auto& text) { to->shell_command = text; });
  declare_program(options, *to, "Write a JSON report at the end");
  return {&to->path, [to](const Invocation& invocation) {
            check_options(*to, invocation);
            return run_with(*to);
          }};
}

}  // namespace zklock::cli
