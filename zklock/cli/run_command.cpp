// SPDX-License-Identifier: Apache-2.0
#include "zklock/cli/run_command.h"

#include <chrono>
#include <memory>
#include <string>

#include <CLI/CLI.hpp>
#include <sys/wait.h>
#include <unistd.h>

#include "zklock/cli/core/display_text.h"
#include "zklock/cli/core/failure.h"
#include "zklock/cli/error_text.h"
#include "zklock/cli/io/controlling_terminal.h"
#include "zklock/cli/io/guardian.h"
#include "zklock/cli/io/signals.h"
#include "zklock/cli/io/standard_streams.h"
#include "zklock/cli/run.h"
#include "zklock/cli/run_options.h"
#include "zklock/cli/run_report.h"

namespace zklock::cli {

namespace {

/// Returns whether the command may have left the terminal in a mode of its own.
bool was_killed(const RunFacts& facts) {
  return facts.kill_at || (facts.status && WIFSIGNALED(*facts.status));
}

int run_with(const RunOptions& options) {
  if (!options.report.empty()) check_report(options.report);
  SignalReader signals;
  // With a terminal, the command stays in the group of zklock. Otherwise it would stop when it
  // reads the terminal.
  const ControllingTerminal terminal;
  GuardedCommand command;
  command.program = options.program;
  command.arguments = options.command;
  command.term_signal = options.term_signal;
  command.signal_mask = signals.old_mask();
  command.ignores_children = signals.ignored_children();
  command.in_own_group = !terminal.exists();
  command.said_if_killed =
      "zklock: run " + display_text(options.path) +
      ": zklock was killed, so the command was ended; the lock becomes free with the session";
  Guardian guardian(command);
  const auto run = std::make_unique<Run>(options, guardian, signals, terminal.exists());
  const int code = run->go();
  if (was_killed(run->facts())) terminal.restore();
  if (!options.report.empty()) {
    try {
      write_report(options.report, run->facts());
    } catch (const Failure& failure) {
      write_line(std::string("zklock: ") + failure.what());
    }
  }
  // Without a confirmation, closing the client could take long. The servers end the session anyway.
  if (!run->is_settled(std::chrono::seconds(1))) ::_exit(code);
  return code;
}

int run_command(const RunArguments& arguments, const Invocation& invocation) {
  const std::string place = "run " + display_text(arguments.path) + ": ";
  try {
    return run_with(check_options(arguments, invocation.settings, invocation.program));
  } catch (const Failure& failure) {
    throw Failure(failure.exit_code(), place + failure.what());
  } catch (const Error& error) {
    throw Failure(exit_code_of(error.errc()), place + text_of(error));
  }
}

}  // namespace

Action declare_run(CLI::App& options) {
  const auto to = std::make_shared<RunArguments>();
  const auto value = [&](const char* names, std::string& target, const char* type,
                         const char* text) {
    options.add_option(names, target, text)->type_name(type)->check([](const std::string& given) {
      return std::string(given.empty() ? "the value is empty" : "");
    });
  };
  options.add_flag("-n,--nonblock", to->nonblock, "Do not wait: exit 75 if the lock is not free");
  options.add_flag("-x,--exclusive", to->exclusive, "Hold alone (default)");
  options.add_flag("-s,--shared", to->shared, "Hold together with other shared holders");
  value("-w,--wait", to->wait, "DUR", "Wait at most that long, then exit 75");
  value("-k,--permits", to->permits, "K/N", "Hold K of N permits, or K/shared");
  value("--weight", to->weight, "1..10", "Heavier contenders are served first");
  value("--max-hold", to->max_hold, "DUR", "End the command after that time");
  value("--lock-delay", to->lock_delay, "DUR", "After a loss, the lock stays free that long");
  value("--grace", to->grace, "DUR", "Time from the signal to KILL (an eighth of -T)");
  value("--term", to->term, "SIG", "Signal that ends the command (TERM)");
  value("-E,--conflict-exit-code", to->code, "CODE", "Exit code if not acquired (75)");
  const auto* const note =
      options.add_option("--note", to->note, "Purpose of this hold, for people")->type_name("TEXT");
  value("--report", to->report, "FILE", "Write a JSON report at the end");
  value("-c,--command", to->shell_command, "STRING", "Run STRING by /bin/sh");
  options.add_option("PATH", to->path, "Path of the lock")->required()->type_name("");
  return [to, note](const Invocation& invocation) {
    to->has_note = note->count() > 0;
    return run_command(*to, invocation);
  };
}

}  // namespace zklock::cli
