// SPDX-License-Identifier: Apache-2.0
#include "zklock/cli/run_options.h"

#include <algorithm>
#include <charconv>
#include <chrono>
#include <cstddef>
#include <cstdlib>
#include <cstring>
#include <sstream>
#include <string_view>
#include <system_error>

#include <CLI/CLI.hpp>
#include <signal.h>
#include <unistd.h>

#include "zklock/cli/core/failure.h"
#include "zklock/cli/core/text.h"
#include "zklock/cli/io/program.h"

namespace zklock::cli {

namespace {

using std::chrono::milliseconds;

/// Returns std::nullopt if the text is not a number from `least` to `most`.
std::optional<int> number(std::string_view text, int least, int most) {
  int value = 0;
  const char* const end = text.data() + text.size();
  const auto [rest, error] = std::from_chars(text.data(), end, value);
  if (error != std::errc() || rest != end || value < least || value > most) return std::nullopt;
  return value;
}

std::optional<Duration> option_duration(const char* option, const std::string& text, Duration least,
                                        Duration most) {
  if (text.empty()) return std::nullopt;
  const Duration value = parse_duration(text);
  if (value < least || value > most) {
    refuse(std::string(option) + " is from " + text_of(least) + " to " + text_of(most) + ", not " +
           text_of(value));
  }
  return value;
}

std::optional<milliseconds> in_milliseconds(const std::optional<Duration>& duration) {
  if (!duration) return std::nullopt;
  return std::chrono::duration_cast<milliseconds>(*duration);
}

void read_permits(const std::string& text, LockChoice& lock) {
  constexpr int kMost = 1'000'000;
  const auto slash = text.find('/');
  const std::string_view all = std::string_view(text).substr(std::min(slash, text.size()));
  lock.permits = number(std::string_view(text).substr(0, slash), 1, kMost);
  if (all != "/shared")
    lock.of = number(all.substr(std::min<std::size_t>(1, all.size())), 1, kMost);
  if (!lock.permits || (all != "/shared" && !lock.of) || (lock.of && *lock.permits > *lock.of)) {
    refuse("-k \"" + display_text(text) + "\" is not valid: write K/N with 1 <= K <= N <= " +
           std::to_string(kMost) + ", or K/shared");
  }
}

void refuse_together(std::string_view option, bool is_set, std::string_view other, bool is_other) {
  if (is_set && is_other) {
    refuse(std::string(option) + " and " + std::string(other) + " exclude each other");
  }
}

LockChoice lock_choice(const RunArguments& arguments) {
  LockChoice lock;
  const bool has_permits = !arguments.permits.empty();
  const bool has_weight = !arguments.weight.empty();
  const bool has_delay = !arguments.lock_delay.empty();
  refuse_together("-s", arguments.shared, "-x", arguments.exclusive);
  refuse_together("-s", arguments.shared, "-k", has_permits);
  refuse_together("-s", arguments.shared, "--weight", has_weight);
  refuse_together("-s", arguments.shared, "--lock-delay", has_delay);
  refuse_together("-k", has_permits, "-x", arguments.exclusive);
  refuse_together("-k", has_permits, "--weight", has_weight);
  refuse_together("-k", has_permits, "--lock-delay", has_delay);
  lock.shared = arguments.shared;
  if (has_permits) read_permits(arguments.permits, lock);
  if (has_weight) lock.weight = option_number("--weight", arguments.weight, 1, 10);
  constexpr auto kDay = std::chrono::hours(24);
  lock.max_hold = in_milliseconds(option_duration("--max-hold", arguments.max_hold, milliseconds(1),
                                                  std::chrono::hours(24 * 365)));
  lock.lock_delay =
      in_milliseconds(option_duration("--lock-delay", arguments.lock_delay, Duration{}, kDay))
          .value_or(milliseconds(0));
  return lock;
}

/// Returns the hosts in one order, with the chroot, so that equal lists compare equal.
std::string sorted_hosts(const std::string& hosts) {
  const auto chroot = std::min(hosts.find('/'), hosts.size());
  std::vector<std::string> names;
  std::istringstream list(hosts.substr(0, chroot));
  for (std::string name; std::getline(list, name, ',');) names.push_back(name);
  std::ranges::sort(names);
  std::string sorted;
  for (const std::string& name : names) sorted += (sorted.empty() ? "" : ",") + name;
  return sorted + hosts.substr(chroot);
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

int option_number(const char* option, const std::string& text, int least, int most) {
  const auto value = number(text, least, most);
  if (!value) {
    refuse(std::string(option) + " is a number from " + std::to_string(least) + " to " +
           std::to_string(most) + ", not \"" + display_text(text) + '"');
  }
  return *value;
}

int parse_signal(const std::string& text) {
  if (const auto value = number(text, 1, SIGRTMAX)) return *value;
  const std::string name = text.starts_with("SIG") ? text.substr(3) : text;
  for (int signal = 1; signal < SIGRTMIN; ++signal) {
    const char* const known = ::sigabbrev_np(signal);
    if (known != nullptr && name == known) return signal;
  }
  refuse("there is no signal \"" + display_text(text) + '"');
}

std::string held_with(const std::string& held, const std::string& hosts, const std::string& path) {
  const std::string line = sorted_hosts(hosts) + path;
  std::istringstream lines(held);
  for (std::string each; std::getline(lines, each);) {
    const auto space = each.find(' ');
    if (space != std::string::npos && each.substr(space + 1) == line) {
      throw Failure(ExitCode::kData, "this command runs under the lock already (pid " +
                                         display_text(each.substr(0, space)) +
                                         "): it would wait for itself");
    }
  }
  return held + (held.empty() || held.ends_with('\n') ? "" : "\n") + std::to_string(::getpid()) +
         ' ' + line;
}

RunOptions check_lock_options(const RunArguments& arguments, const Settings& settings) {
  RunOptions options;
  options.path = arguments.path;
  options.settings = settings;
  options.lock = lock_choice(arguments);
  options.lock.note = arguments.note;
  options.kind = kind_of(options.lock);
  refuse_together("-n", arguments.nonblock, "-w", !arguments.wait.empty());
  options.nonblock = arguments.nonblock;
  constexpr auto kYear = std::chrono::hours(24 * 365);
  options.wait = option_duration("-w", arguments.wait, Duration{}, kYear);
  const char* const held = std::getenv("ZKLOCK_HELD");
  options.held = held_with(held != nullptr ? held : "", settings.hosts, options.path);
  return options;
}

RunOptions check_options(const RunArguments& arguments, const Settings& settings,
                         const std::vector<std::string>& program) {
  RunOptions options = check_lock_options(arguments, settings);
  refuse_together("-c", !arguments.shell_command.empty(), "a command", !program.empty());
  options.grace = option_duration("--grace", arguments.grace, Duration{}, std::chrono::minutes(15));
  options.term_signal = parse_signal(arguments.term);
  options.code_if_not_acquired =
      arguments.code.empty() ? ExitCode::kNotAcquired : option_number("-E", arguments.code, 0, 255);
  options.report = arguments.report;
  options.command = program;
  if (!arguments.shell_command.empty()) {
    options.command = {"/bin/sh", "-c", arguments.shell_command};
  }
  if (options.command.empty()) refuse("no command: write it after the path, or use -c");
  options.program = find_program(options.command.front());
  // The arguments can contain secrets, so only the name of the program is shown.
  const auto& name = options.command.front();
  if (!arguments.has_note) options.lock.note = name.substr(name.rfind('/') + 1);
  return options;
}

}  // namespace zklock::cli
