// SPDX-License-Identifier: Apache-2.0
#include "zklock/cli/run_command.h"

#include <memory>
#include <string>

#include <CLI/CLI.hpp>

#include "zklock/cli/contender.h"
#include "zklock/cli/held_lock.h"
#include "zklock/cli/run_options.h"
#include "zklock/cli/run_session.h"
#include "zklock/cli/view_support.h"

namespace zklock::cli {

namespace {

int run_with(const RunOptions& options) {
  RunSession session(options, false);
  const RunFacts& facts =
      session.run(lock_function(make_contender(session.client(), options.path, options.lock)));
  return session.end(facts.exit_code);
}

}  // namespace

void declare_value(CLI::App& options, const char* names, std::string& target, const char* type,
                   const char* text) {
  options.add_option(names, target, text)->type_name(type)->check([](const std::string& given) {
    return std::string(given.empty() ? "the value is empty" : "");
  });
}

void declare_program(CLI::App& options) {
  options.add_option("COMMAND")
      ->description("The program to run, and its arguments")
      ->type_name("")
      ->expected(1, -1);
}

void declare_note(CLI::App& options, RunArguments& to) {
  options.add_option("--note", to.note, "Purpose of this hold, for people")
      ->type_name("TEXT")
      ->each([&to](const std::string&) { to.has_note = true; });
}

void declare_lock_options(CLI::App& options, RunArguments& to) {
  const auto value = [&](const char* names, std::string& target, const char* type,
                         const char* text) { declare_value(options, names, target, type, text); };
  options.add_flag("-n,--nonblock", to.nonblock, "Do not wait: exit 75 if the lock is not free");
  options.add_flag("-x,--exclusive", to.exclusive, "Hold alone (default)");
  options.add_flag("-s,--shared", to.shared, "Hold together with other shared holders");
  value("-w,--wait", to.wait, "DUR", "Wait at most that long, then exit 75");
  value("-k,--permits", to.permits, "K/N",
        "K/N: K of N permits. K/shared: K permits of the stored count");
  value("--weight", to.weight, "1..10", "Heavier contenders are served first");
  value("--max-hold", to.max_hold, "DUR", "Hold at most that long, then exit 79");
  value("--lock-delay", to.lock_delay, "DUR",
        "After a loss, no contender is granted the lock for that long");
  declare_note(options, to);
  options.add_option("PATH", to.path, "Path of the lock")->required()->type_name("");
}

Action declare_run(CLI::App& options) {
  const auto to = std::make_shared<RunArguments>();
  declare_lock_options(options, *to);
  const auto value = [&](const char* names, std::string& target, const char* type,
                         const char* text) { declare_value(options, names, target, type, text); };
  value("--grace", to->grace, "DUR", "Time from the signal to KILL (an eighth of -T)");
  value("--term", to->term, "SIG", "Signal that ends the command (TERM)");
  value("-E,--conflict-exit-code", to->code, "CODE", "Exit code if not acquired (75)");
  value("--report", to->report, "FILE", "Write a JSON report at the end");
  value("-c,--command", to->shell_command, "STRING", "Run STRING by /bin/sh");
  declare_program(options);
  return [to](const Invocation& invocation) {
    return run_view("run", to->path, [&] {
      return run_with(check_options(*to, invocation.settings, invocation.program));
    });
  };
}

}  // namespace zklock::cli
