// SPDX-License-Identifier: Apache-2.0
#include <chrono>
#include <exception>
#include <memory>
#include <optional>
#include <string>

#include <CLI/CLI.hpp>
#include <boost/system/system_error.hpp>

#include "zklock/cli/command_support.h"
#include "zklock/cli/core/candidacy_repeat.h"
#include "zklock/cli/core/failure.h"
#include "zklock/cli/core/text.h"
#include "zklock/cli/elect_probes.h"
#include "zklock/cli/held_lock.h"
#include "zklock/cli/io/events.h"
#include "zklock/cli/io/http_server.h"
#include "zklock/cli/io/standard_streams.h"
#include "zklock/cli/run_options.h"
#include "zklock/cli/run_report.h"
#include "zklock/cli/run_session.h"
#include "zklock/error.h"
#include "zklock/leadership.h"

namespace zklock::cli {

namespace {

constexpr std::chrono::seconds kBetweenProclaims{1};

struct ElectOptions {
  RunOptions run;
  std::string proclaim;
  std::optional<HttpServer::Endpoint> health;
  bool repeat = false;
};

/// Proclaims the value. After an error that can pass, proclaims it again while the leadership is
/// valid. A failure is no reason to end the command.
void proclaim(const Leadership& leadership, const ElectOptions& options) {
  const auto fail = [&run = options.run](const std::exception_ptr& error, const char* follows) {
    say(run, std::string("the value was not proclaimed: ") + failure_of(error).what() + follows);
  };
  try {
    // The handler runs on one of several threads that the client has for handlers, so it may block.
    leadership.async_proclaim(options.proclaim,
                              [leadership, &options, fail](const std::exception_ptr& error) {
                                if (!error || !leadership.is_valid()) return;
                                if (failure_of(error).exit_code() != ExitCode::kUnavailable)
                                  return fail(error, "");
                                fail(error, "; zklock tries again");
                                pause(kBetweenProclaims, leadership.end_token());
                                if (leadership.is_valid()) proclaim(leadership, options);
                              });
  } catch (const Error&) {
    fail(std::current_exception(), "");
  }
}

std::unique_ptr<ElectProbes> make_probes(Client& client, const ElectOptions& options) {
  if (!options.health) return nullptr;
  try {
    auto probes = std::make_unique<ElectProbes>(client, options.run.path, *options.health);
    if (!options.run.settings.quiet) {
      say(options.run, "health checks at " + url_of(probes->endpoint()) + "livez and /readyz");
    }
    return probes;
  } catch (const boost::system::system_error& error) {
    throw Failure(ExitCode::kSystem, url_of(*options.health) + ": " + error.code().message());
  }
}

CandidacyEnd end_of(const RunFacts& facts) {
  CandidacyEnd end{facts.pid.has_value(), facts.exit_code, facts.ending_signal};
  if (facts.granted_at && facts.swept_at) end.held_for = *facts.swept_at - *facts.granted_at;
  return end;
}

int elect(const ElectOptions& options) {
  RunSession session(options.run, options.repeat);
  const auto probes = make_probes(session.client(), options);
  CandidacyRepeat plan;
  while (true) {
    const RunFacts facts =
        session.run(make_candidacy(session.client(), options.run.path, options.run.lock.note,
                                   [&](const Leadership& leadership) {
                                     if (probes) probes->on_leading(leadership);
                                     if (!options.proclaim.empty()) proclaim(leadership, options);
                                   }),
                    [&](RunState state) {
                      if (probes) probes->on_state(state);
                    });
    if (!options.repeat || session.has_guardian_ended()) return session.end(facts.exit_code);
    const auto pause = plan.next(end_of(facts));
    if (!pause) return session.end(facts.exit_code);
    if (!options.run.settings.quiet) {
      say(options.run, "ended with code " + std::to_string(facts.exit_code) +
                           "; stands for election again in " + text_of(*pause));
    }
    if (const auto signal = session.pause(*pause)) return session.end(ExitCode::kSignal + *signal);
  }
}

}  // namespace

Action declare_elect(CLI::App& options) {
  const auto to = std::make_shared<ElectOptions>();
  to->run.default_session_timeout = std::chrono::seconds(15);
  options.add_option("PATH", to->run.path, "Path of the election")->required()->type_name("");
  declare_option(options, "--proclaim", "TEXT", "Value that observers of the election receive",
                 [to](const auto& text) { to->proclaim = text; });
  declare_option(options, "--health", "ADDR",
                 "Address of the probes /livez and /readyz: 127.0.0.1:8080",
                 [to](const auto& text) { to->health = parse_endpoint(text); });
  options.add_flag("--repeat", to->repeat, "Stand again after the command or the leadership ended");
  declare_note(options, to->run);
  declare_program(options, to->run, "Write a JSON report; each leadership overwrites it");
  return {&to->run.path, [to](const Invocation& invocation) {
            check_options(to->run, invocation);
            to->run.kind = "election";
            return elect(*to);
          }};
}

}  // namespace zklock::cli
