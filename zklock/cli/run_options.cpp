// SPDX-License-Identifier: Apache-2.0
#include "zklock/cli/run_options.h"

#include <algorithm>
#include <cerrno>
#include <cstddef>
#include <cstdlib>
#include <cstring>
#include <string_view>
#include <system_error>

#include <CLI/CLI.hpp>
#include <sys/stat.h>
#include <unistd.h>

#include "zklock/cli/command_support.h"
#include "zklock/cli/core/outer_locks.h"
#include "zklock/cli/core/text.h"

namespace zklock::cli {

namespace {

constexpr std::chrono::hours kYear{24 * 365};

void refuse_together(std::string_view option, bool is_set, std::string_view other, bool is_other) {
  if (is_set && is_other) {
    refuse(std::string(option) + " and " + std::string(other) + " exclude each other");
  }
}

/// Returns 0 if the file can be executed, else errno.
int error_of_program(const std::string& path) {
  struct stat status {};
  if (::stat(path.c_str(), &status) != 0) return errno;
  if (S_ISDIR(status.st_mode)) return EISDIR;
  return ::access(path.c_str(), X_OK) == 0 ? 0 : errno;
}

[[noreturn]] void refuse_program(const std::string& name, int error) {
  if (error == ENOENT || error == ENOTDIR) {
    throw Failure(ExitCode::kNotFound, "no such command: " + display_text(name));
  }
  throw Failure(ExitCode::kNotExecutable, "not executable: " + display_text(name) + " (" +
                                              std::generic_category().message(error) + ')');
}

}  // namespace

ClientOptions run_client_options(const RunOptions& options) {
  ClientOptions client = client_options(options.settings);
  if (!options.settings.session_timeout) {
    Duration timeout = options.default_session_timeout;
    if (options.grace) timeout = std::max(timeout, *options.grace * 4);
    client.session_timeout = std::chrono::duration_cast<std::chrono::milliseconds>(timeout);
  }
  client.connection_timeout = kConnectionTimeout;
  client.loss_callback_limit = std::chrono::hours(24);
  return client;
}

Deadline acquire_deadline(const RunOptions& options, Instant begin) {
  if (options.nonblock) return Deadline::passed();
  return options.wait ? Deadline(begin + *options.wait) : Deadline::never();
}

void declare_note(CLI::App& options, RunOptions& to) {
  options
      .add_option_function<std::string>(
          "--note", [&to](const std::string& text) { to.note = text; },
          "Purpose of this hold, for people")
      ->type_name("TEXT");
}

void declare_lock_options(CLI::App& options, RunOptions& to) {
  options.add_option("PATH", to.path, "Path of the lock")->required()->type_name("");
  options.add_flag("-n,--nonblock", to.nonblock, "Do not wait: exit 75 if the lock is not free");
  options.add_flag("-x,--exclusive", to.exclusive, "Hold alone (default)");
  options.add_flag("-s,--shared", to.lock.shared, "Hold together with other shared holders");
  declare_duration(options, "-w,--wait", "Wait at most that long, then exit 75", to.wait, {},
                   kYear);
  declare_option(options, "-k,--permits", "K/N",
                 "K/N: K of N permits. K/shared: K permits of the stored count",
                 [&to](const auto& text) { read_permits(text, to.lock); });
  declare_option(
      options, "--weight", "1..10", "Heavier contenders are served first",
      [&to](const auto& text) { to.lock.weight = option_number("--weight", text, 1, 10); });
  declare_duration(options, "--max-hold", "Hold at most that long, then exit 79", to.lock.max_hold,
                   std::chrono::milliseconds(1), kYear);
  declare_duration(options, "--lock-delay",
                   "After a loss, no contender is granted the lock for that long",
                   to.lock.lock_delay, {}, std::chrono::hours(24));
  declare_note(options, to);
}

void declare_program(CLI::App& options, RunOptions& to, const char* report) {
  declare_duration(options, "--grace", "Time from the signal to KILL (an eighth of -T)", to.grace,
                   {}, std::chrono::minutes(15));
  declare_option(options, "--term", "SIG", "Signal that ends the command (TERM)",
                 [&to](const auto& text) { to.term_signal = parse_signal(text); });
  declare_option(options, "--report", "FILE", report,
                 [&to](const auto& text) { to.report = text; });
  // For the help. The parser never sees them.
  options.add_option("COMMAND")
      ->description("The program to run, and its arguments")
      ->type_name("")
      ->expected(1, -1);
}

void read_permits(const std::string& text, LockChoice& lock) {
  constexpr int kMost = 1'000'000;
  const auto slash = text.find('/');
  const std::string_view all = std::string_view(text).substr(std::min(slash, text.size()));
  lock.permits = parse_number(std::string_view(text).substr(0, slash), 1, kMost);
  if (all != "/shared")
    lock.of = parse_number(all.substr(std::min<std::size_t>(1, all.size())), 1, kMost);
  if (!lock.permits || (all != "/shared" && !lock.of) || (lock.of && *lock.permits > *lock.of)) {
    refuse("-k \"" + display_text(text) + "\" is not valid: write K/N with 1 <= K <= N <= " +
           std::to_string(kMost) + ", or K/shared");
  }
}

std::string find_program(const std::string& name) {
  if (name.find('/') != std::string::npos) {
    if (const int error = error_of_program(name); error != 0) refuse_program(name, error);
    return name;
  }
  const char* const variable = std::getenv("PATH");
  const std::string_view path = variable != nullptr ? variable : "/usr/local/bin:/usr/bin:/bin";
  int worst = ENOENT;
  for (std::size_t begin = 0; begin <= path.size() && !name.empty();) {
    const std::size_t end = std::min(path.find(':', begin), path.size());
    const std::string_view folder = path.substr(begin, end - begin);
    std::string candidate = std::string(folder.empty() ? "." : folder) + '/' + name;
    const int error = error_of_program(candidate);
    if (error == 0) return candidate;
    if (error != ENOENT && error != ENOTDIR) worst = error;
    begin = end + 1;
  }
  refuse_program(name, worst);
}

int parse_signal(const std::string& text) {
  if (const auto value = parse_number(text, 1, SIGRTMAX)) return *value;
  const std::string name = text.starts_with("SIG") ? text.substr(3) : text;
  for (int signal = 1; signal < SIGRTMIN; ++signal) {
    const char* const known = ::sigabbrev_np(signal);
    if (known != nullptr && name == known) return signal;
  }
  refuse("there is no signal \"" + display_text(text) + '"');
}

void check_lock_options(RunOptions& options, const Invocation& invocation) {
  LockChoice& lock = options.lock;
  refuse_together("-s", lock.shared, "-x", options.exclusive);
  refuse_together("-s", lock.shared, "-k", lock.permits.has_value());
  refuse_together("-s", lock.shared, "--weight", lock.weight.has_value());
  refuse_together("-s", lock.shared, "--lock-delay", lock.lock_delay.has_value());
  refuse_together("-k", lock.permits.has_value(), "-x", options.exclusive);
  refuse_together("-k", lock.permits.has_value(), "--weight", lock.weight.has_value());
  refuse_together("-k", lock.permits.has_value(), "--lock-delay", lock.lock_delay.has_value());
  refuse_together("-n", options.nonblock, "-w", options.wait.has_value());
  options.settings = invocation.settings;
  options.place = invocation.place;
  lock.note = options.note.value_or("");
  options.kind = kind_of(lock);
  const char* const held = std::getenv("ZKLOCK_HELD");
  options.held = held_with(held != nullptr ? held : "", ::getpid(), options.settings.client.hosts,
                           options.path);
}

void check_options(RunOptions& options, const Invocation& invocation) {
  check_lock_options(options, invocation);
  options.command = invocation.program;
  if (!options.shell_command.empty()) {
    refuse_together("-c", true, "a command", !options.command.empty());
    options.command = {"/bin/sh", "-c", options.shell_command};
  }
  if (options.command.empty()) refuse("no command: write it after the path, or use -c");
  options.program = find_program(options.command.front());
  // The arguments can contain secrets, so only the name of the program is shown.
  const auto& name = options.command.front();
  if (!options.note) options.lock.note = name.substr(name.rfind('/') + 1);
}

}  // namespace zklock::cli
