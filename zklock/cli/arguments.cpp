// SPDX-License-Identifier: Apache-2.0
#include "zklock/cli/arguments.h"
#include "zklock/version.h"

#include <algorithm>
#include <array>
#include <cstddef>
#include <iostream>
#include <optional>
#include <string_view>
#include <vector>

#include <CLI/CLI.hpp>

#include "zklock/cli/command.h"
#include "zklock/cli/core/argv_split.h"
#include "zklock/cli/core/failure.h"
#include "zklock/cli/core/text.h"
#include "zklock/cli/io/scarce_resources.h"

namespace zklock::cli {

namespace {

/// One command of zklock.
struct Command {
  const char* name;
  const char* summary;
  /// Whether all arguments behind the first operand are those of a program to start.
  bool starts_program;
  /// Declares the options of the command. The returned function uses their values.
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

std::optional<bool> takes_value(const CLI::App& options, std::string_view name) {
  const CLI::Option* const option = options.get_option_no_throw(std::string(name));
  if (option == nullptr) return std::nullopt;
  return option->get_items_expected_max() > 0;
}

void declare_globals(CLI::App& app, GlobalOptions& globals) {
  app.set_version_flag("--version", std::string("zklock ") + ZKLOCK_VERSION_STRING);
  app.add_option("-z,--hosts", globals.hosts, "Servers: host:port,host:port/chroot")
      ->type_name("HOSTS");
  app.add_flag("--create-chroot", globals.create_chroot, "Create the chroot of HOSTS if needed");
  app.add_option("--config", globals.config, "Configuration file")->type_name("FILE");
  app.add_option("--digest-file", globals.digest_file, "File with the line user:password")
      ->type_name("FILE");
  app.add_option("-T,--session-timeout", globals.session_timeout, "Session timeout")
      ->type_name("DUR");
  app.add_flag("--json", globals.json, "Print JSON, one object a line");
  app.add_flag("-q,--quiet", globals.quiet, "Print errors only");
  app.add_flag("-v,--verbose", globals.verbose, "Print the log, too");
}

/// Splits "--option=". CLI11 would take the next argument as the value.
void split_empty_values(std::vector<std::string>& arguments, const TakesValue& takes_value) {
  for (std::size_t i = 0; i < arguments.size() && arguments[i] != "--"; ++i) {
    const std::string each = arguments[i];
    if (!each.starts_with("--") || each.find('=') != each.size() - 1) continue;
    const std::string name = each.substr(0, each.size() - 1);
    if (!takes_value(name).value_or(false)) continue;
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

/// Parses by CLI11. Returns an exit code if the program is to end now. `command`: its name, or
/// empty.
std::optional<int> parse(CLI::App& app, std::vector<std::string> arguments,
                         const std::string& command) {
  std::ranges::reverse(arguments);  // as CLI11 expects
  try {
    app.parse(arguments);
  } catch (const CLI::ParseError& error) {
    if (error.get_exit_code() == 0) {  // --help, --version
      const int code = app.exit(error);
      if (std::cout.flush()) return code;
      throw Failure(ExitCode::kOutput, "the standard output cannot be written");
    }
    throw Failure(ExitCode::kUsage, std::string(error.what()) + "; see `zklock " + command +
                                        (command.empty() ? "" : " ") + "--help`");
  }
  return std::nullopt;
}

}  // namespace

int run_arguments(std::span<const std::string> arguments) {
  CLI::App app("Distributed locks on ZooKeeper", "zklock");
  app.require_subcommand(1);
  app.set_help_all_flag("--help-all", "Print the options of all commands");
  GlobalOptions globals;
  declare_globals(app, globals);
  std::vector<Declared> declared;
  for (const Command& each : kCommands) {
    CLI::App* const options = app.add_subcommand(each.name, each.summary)->fallthrough();
    declared.push_back({&each, options, each.declare(*options)});
  }

  std::vector<std::string> own(arguments.begin(), arguments.end());
  std::vector<std::string> program;
  const auto of_app = [&](std::string_view name) { return takes_value(app, name); };
  const std::size_t word = first_operand(arguments, of_app);
  const auto chosen = std::ranges::find_if(declared, [&](const Declared& each) {
    return word < arguments.size() && arguments[word] == each.command->name;
  });
  const auto of_command = [&](std::string_view name) {
    std::optional<bool> found;
    if (chosen != declared.end()) found = takes_value(*chosen->options, name);
    return found ? found : takes_value(app, name);
  };
  const bool names_one = std::ranges::any_of(arguments, [](const std::string& each) {
    return std::ranges::any_of(kCommands, [&](const Command& one) { return each == one.name; });
  });
  if (!names_one && word < arguments.size()) refuse_command(arguments[word]);
  if (chosen != declared.end() && chosen->command->starts_program) {
    SplitArguments split = split_arguments(arguments.subspan(word + 1), of_command);
    own.resize(word + 1);
    own.insert(own.end(), split.own.begin(), split.own.end());
    program = std::move(split.program);
  }
  split_empty_values(own, of_command);
  const std::string name = chosen != declared.end() ? chosen->command->name : "";
  if (const auto code = parse(app, std::move(own), name)) return *code;
  if (chosen == declared.end()) throw Failure(ExitCode::kUsage, "no command");
  check_descriptors();
  return chosen->action({read_settings(globals), std::move(program)});
}

}  // namespace zklock::cli
