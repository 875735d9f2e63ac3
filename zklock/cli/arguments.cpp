// SPDX-License-Identifier: Apache-2.0
#include "zklock/version.h"

#include <algorithm>
#include <array>
#include <cstddef>
#include <exception>
#include <iostream>
#include <optional>
#include <string_view>
#include <vector>

#include <CLI/CLI.hpp>
#include <fcntl.h>
#include <unistd.h>

#include "zklock/cli/command.h"
#include "zklock/cli/command_support.h"
#include "zklock/cli/core/argv_split.h"
#include "zklock/cli/core/failure.h"
#include "zklock/cli/core/text.h"
#include "zklock/cli/io/unique_fd.h"

namespace zklock::cli {

namespace {

/// One command of zklock.
struct Command {
  const char* name;
  const char* summary;
  /// Whether all arguments behind the first operand are those of a program to start.
  bool starts_program;
  /// Declares the options of the command. The returned action uses their values.
  Action (*declare)(CLI::App& options);
};

constexpr std::array kCommands{
    Command{"run", "Run a program while holding a lock", true, &declare_run},
    Command{"elect", "Run a program while leading an election", true, &declare_elect},
    Command{"hold", "Hold a lock until a signal", false, &declare_hold},
    Command{"ls", "List all locks, those below a path, or the contenders of a lock", false,
            &declare_list},
    Command{"watch", "Print a line for each change of a lock", false, &declare_watch},
    Command{"top", "Show the locks below a path, refreshed", false, &declare_top},
    Command{"permits", "Show or set the permit count of a semaphore", false, &declare_permits},
    Command{"release", "Request or force the release of a lock", false, &declare_release},
    Command{"check", "Find deadlocks and other problems of locks", false, &declare_check},
    Command{"doctor", "Check servers, session and one path", false, &declare_doctor},
    Command{"serve", "Serve a live page of all locks, and metrics", false, &declare_serve},
};

/// A command as CLI11 knows it.
struct Declared {
  const Command* command;
  CLI::App* options;
  Action action;
};

bool takes_value(const CLI::App& options, std::string_view name) {
  const CLI::Option* const option = options.get_option_no_throw(std::string(name));
  return option != nullptr && option->get_items_expected_max() > 0;
}

void declare_globals(CLI::App& app, Settings& flags, SettingTexts& texts) {
  app.set_version_flag("--version", std::string("zklock ") + ZKLOCK_VERSION_STRING);
  app.add_option("-z,--hosts", texts["hosts"], "Servers: host:port,host:port/chroot")
      ->type_name("HOSTS");
  app.add_flag("--create-chroot", flags.client.create_chroot,
               "Create the chroot of HOSTS if needed");
  app.add_option("--config", texts["config"], "Configuration file")->type_name("FILE");
  app.add_option("--digest-file", texts["digest-file"], "File with the line user:password")
      ->type_name("FILE");
  app.add_option("-T,--session-timeout", texts["session-timeout"], "Session timeout")
      ->type_name("DUR");
  app.add_flag("--json", flags.json, "Print JSON, one object a line");
  app.add_flag("-q,--quiet", flags.quiet, "Print errors only");
  app.add_flag("-v,--verbose", flags.verbose, "Print the log, too");
}

/// Opens as many file descriptors as a command needs, and closes them. So a command does not fail
/// halfway. REQUIRES: the standard error output is open. Throws: Failure with ExitCode::kSystem.
void check_descriptors() {
  constexpr std::size_t kNeeded = 24;
  std::vector<UniqueFd> opened;
  while (opened.size() < kNeeded) {
    opened.emplace_back(::fcntl(STDERR_FILENO, F_DUPFD_CLOEXEC, STDERR_FILENO + 1));
    if (opened.back().get() >= 0) continue;
    throw system_failure("a command needs " + std::to_string(kNeeded) + " file descriptors");
  }
}

/// Splits "--option=". CLI11 would take the next argument as the value.
void split_empty_values(std::vector<std::string>& arguments, const TakesValue& takes_value) {
  for (std::size_t i = 0; i < arguments.size() && arguments[i] != "--"; ++i) {
    const std::string each = arguments[i];
    if (!each.starts_with("--") || each.find('=') != each.size() - 1) continue;
    const std::string name = each.substr(0, each.size() - 1);
    if (!takes_value(name)) continue;
    arguments[i] = name;
    arguments.insert(arguments.begin() + static_cast<std::ptrdiff_t>(i + 1), std::string());
  }
}

[[noreturn]] void refuse_command(const std::string& written) {
  std::vector<std::string_view> names;
  for (const Command& each : kCommands) names.emplace_back(each.name);
  const std::string_view meant = closest_name(written, names);
  refuse("there is no command \"" + display_text(written) + '"' +
         (meant.empty() ? ";" : ", did you mean " + std::string(meant) + "?") +
         " `zklock --help` lists the commands");
}

/// Returns the name of the command and its path.
std::string place_of(const Declared& declared) {
  const std::string& path = *declared.action.path;
  return declared.command->name + (path.empty() ? "" : ' ' + path);
}

/// Returns a failure with the place before the text.
Failure placed_failure(const std::string& place, const Failure& failure) {
  return {failure.exit_code(), display_text(place) + ": " + failure.what()};
}

/// Parses by CLI11. Returns an exit code if the program is to end now. `chosen`: the command, or
/// null.
std::optional<int> parse(CLI::App& app, std::vector<std::string> arguments,
                         const Declared* chosen) {
  std::ranges::reverse(arguments);  // as CLI11 expects
  try {
    app.parse(arguments);
  } catch (const Failure& failure) {  // of an option's value
    if (chosen == nullptr) throw;
    for (const CLI::App* const each : app.get_subcommands()) {
      if (each->get_help_ptr()->count() > 0) return app.exit(CLI::CallForHelp());
    }
    throw placed_failure(place_of(*chosen), failure);
  } catch (const CLI::ParseError& error) {
    if (error.get_exit_code() == 0) {  // --help, --version
      const int code = app.exit(error);
      if (std::cout.flush()) return code;
      throw Failure(ExitCode::kOutput, "the standard output cannot be written");
    }
    const std::string name = chosen != nullptr ? std::string(chosen->command->name) + ' ' : "";
    refuse(std::string(error.what()) + "; see `zklock " + name + "--help`");
  }
  return std::nullopt;
}

int run(const Action& action, const Invocation& invocation) {
  try {
    return action.run(invocation);
  } catch (const std::exception&) {
    throw placed_failure(invocation.place, failure_of(std::current_exception()));
  }
}

}  // namespace

int run_arguments(std::span<const std::string> arguments) {
  CLI::App app("Distributed locks on ZooKeeper", "zklock");
  app.require_subcommand(1);
  app.set_help_all_flag("--help-all", "Print the options of all commands");
  Settings flags;
  SettingTexts texts;
  declare_globals(app, flags, texts);
  std::vector<Declared> declared;
  for (const Command& each : kCommands) {
    CLI::App* const options = app.add_subcommand(each.name, each.summary)->fallthrough();
    declared.push_back({&each, options, each.declare(*options)});
  }

  std::vector<std::string> own(arguments.begin(), arguments.end());
  std::vector<std::string> program;
  const auto of_app = [&](std::string_view name) { return takes_value(app, name); };
  const std::size_t word = first_operand(arguments, of_app);
  const Declared* chosen = nullptr;
  for (const Declared& each : declared) {
    if (word < arguments.size() && arguments[word] == each.command->name) chosen = &each;
  }
  const auto of_command = [&](std::string_view name) {
    return (chosen != nullptr && takes_value(*chosen->options, name)) || takes_value(app, name);
  };
  const bool names_one = std::ranges::any_of(arguments, [](const std::string& each) {
    return std::ranges::any_of(kCommands, [&](const Command& one) { return each == one.name; });
  });
  if (!names_one && word < arguments.size()) refuse_command(arguments[word]);
  if (chosen != nullptr && chosen->command->starts_program) {
    SplitArguments split = split_arguments(arguments.subspan(word + 1), of_command);
    own.resize(word + 1);
    own.insert(own.end(), split.own.begin(), split.own.end());
    program = std::move(split.program);
  }
  split_empty_values(own, of_command);
  if (const auto code = parse(app, std::move(own), chosen)) return *code;
  if (chosen == nullptr) refuse("no command");
  check_descriptors();
  flags.client.application = std::string("zklock ") + chosen->command->name;
  return run(chosen->action,
             {read_settings(std::move(flags), texts), place_of(*chosen), std::move(program)});
}

}  // namespace zklock::cli
