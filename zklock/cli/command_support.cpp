// SPDX-License-Identifier: Apache-2.0
#include "zklock/cli/command_support.h"

#include <array>
#include <cerrno>
#include <charconv>
#include <chrono>
#include <cstddef>
#include <cstdio>
#include <cstdlib>
#include <latch>
#include <system_error>
#include <thread>
#include <utility>
#include <vector>

#include <CLI/CLI.hpp>
#include <boost/algorithm/string/replace.hpp>
#include <sys/ioctl.h>
#include <unistd.h>

#include "zklock/cli/core/json_text.h"
#include "zklock/cli/core/lock_tables.h"
#include "zklock/cli/core/text.h"
#include "zklock/cli/io/standard_streams.h"

namespace zklock::cli {

namespace {

struct Name {
  std::string_view of_library;
  std::string_view of_command;
};
constexpr std::array kNames{
    Name{"ClientOptions::hosts", "the hosts"},
    Name{"set ClientOptions::create_chroot", "use --create-chroot"},
    Name{"ClientOptions::session_timeout", "the session timeout"},
    Name{"ClientOptions::digest", "a digest file"},
    Name{"ClientOptions::acl", "the configuration"},
    Name{"AclPolicy::creator_all()", "\"acl = creator-all\""},
    Name{"call set_permits()", "use zklock permits --set"},
};

/// Starts as many threads as a client needs, and joins them. A client keeps the threads that
/// deliver a grant. A command that waits needs two others only for a new session, and waits for
/// them. Throws: Failure with ExitCode::kSystem.
void check_threads() {
  // Six of a client and two of the C client. The system counts a thread for a moment after its end,
  // so two more are started.
  constexpr std::size_t kNeeded = 10;
  std::latch all_started(1);
  std::vector<std::jthread> threads;
  int error = 0;
  try {
    while (threads.size() < kNeeded) threads.emplace_back([&all_started] { all_started.wait(); });
  } catch (const std::system_error& failure) {
    error = failure.code().value();
  }
  all_started.count_down();
  threads.clear();
  if (error != 0) throw system_failure("the threads of a client cannot be started", error);
}

/// Prints the log of the library. The lines of the ZooKeeper C client are for programmers, so they
/// need -v: the texts of errors name the cause, too.
void set_log(ClientOptions& options, bool quiet, bool verbose) {
  options.log_level = quiet ? LogLevel::error : verbose ? LogLevel::info : LogLevel::warning;
  options.log_sink = [verbose](LogLevel, std::string_view line) {
    if (!verbose && line.starts_with("zookeeper client: ")) return;
    write_line((line.starts_with("zklock: ") ? "" : "zklock: ") +
               without_api_names(std::string(line)));
  };
}

constexpr std::string_view kTitleColour = "\033[1m";
constexpr const char* kNoColour = "\033[0m";

std::string_view colour_of(Tint tint) {
  switch (tint) {
    case Tint::held: return "\033[32m";
    case Tint::warning: return "\033[33m";
    case Tint::alarm: return "\033[31m";
    case Tint::plain: break;
  }
  return {};
}

/// Returns whether the user has not refused colours; see https://no-color.org.
bool is_colour_wanted() {
  const auto variable = [](const char* name) {
    const char* const value = std::getenv(name);
    return std::string_view(value == nullptr ? "" : value);
  };
  return variable("NO_COLOR").empty() && variable("TERM") != "dumb" && !variable("TERM").empty();
}

/// Returns the width of the terminal of the standard output, else of COLUMNS; 0: no terminal.
std::size_t output_width() {
  constexpr std::size_t kUsual = 80;
  if (::isatty(STDOUT_FILENO) == 0) return 0;
  winsize size{};
  if (::ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) == 0 && size.ws_col > 0) return size.ws_col;
  const char* const columns = std::getenv("COLUMNS");
  const std::string_view text = columns == nullptr ? "" : columns;
  std::size_t width = 0;
  std::from_chars(text.data(), text.data() + text.size(), width);
  return width > 0 ? width : kUsual;
}

}  // namespace

std::string without_api_names(std::string text) {
  for (const Name& name : kNames) boost::replace_all(text, name.of_library, name.of_command);
  return text;
}

std::string text_of(const Error& error) {
  std::string text = error.what();
  const std::string place = error.path() + ": ";
  const auto at = text.find(place);
  if (!error.path().empty() && at != std::string::npos) text.erase(0, at + place.size());
  return without_api_names(std::move(text));
}

Failure failure_of(const std::exception_ptr& error) {
  try {
    std::rethrow_exception(error);
  } catch (const Failure& failure) {
    return failure;
  } catch (const Error& of_library) {
    return {exit_code_of(of_library.errc()), text_of(of_library)};
  } catch (const std::system_error& of_system) {  // no thread or descriptor
    return {ExitCode::kSystem, of_system.what()};
  } catch (const std::exception& other) {
    return {ExitCode::kInternal, other.what()};
  }
}

ClientOptions client_options(const Settings& settings) {
  check_threads();
  ClientOptions options = settings.client;
  set_log(options, settings.quiet, settings.verbose);
  return options;
}

std::unique_ptr<Client> view_client(const Settings& settings) {
  ClientOptions options = client_options(settings);
  options.connection_timeout = std::chrono::seconds(5);
  return std::make_unique<Client>(std::move(options));
}

int try_print_line(const std::string& line) {
  errno = 0;
  if (std::fputs((line + "\n").c_str(), stdout) >= 0 && std::fflush(stdout) == 0) return 0;
  return errno != 0 ? errno : EIO;
}

void print_line(const std::string& line) {
  const int error = try_print_line(line);
  if (error == 0) return;
  throw Failure(ExitCode::kOutput, "standard output: " + std::generic_category().message(error));
}

void print_table(const Table& table) {
  const std::size_t width = output_width();
  const bool has_colours = width > 0 && is_colour_wanted();
  std::size_t number = 0;
  for (const std::string& line : table.lines(width)) {
    const std::string_view colour = number == 0 ? kTitleColour : colour_of(table.tint(number));
    ++number;
    print_line(has_colours && !colour.empty() ? std::string(colour) + line + kNoColour : line);
  }
}

void print_locks(const Settings& settings, const Snapshot& snapshot,
                 std::span<const SurveyedLock* const> rows) {
  const CycleMarks& marks = snapshot.marks;
  if (!settings.json) return print_table(lock_table(rows, snapshot.as_of, marks));
  for (const SurveyedLock* const row : rows) {
    print_line(json::lock(*row, mark_of(marks, row->path), snapshot.as_of));
  }
}

CLI::Option* declare_option(CLI::App& options, const char* names, const char* type,
                            const char* text, const std::function<void(const std::string&)>& read) {
  return options.add_option_function<std::string>(names, read, text)
      ->type_name(type)
      ->check([](const std::string& given) {
        return std::string(given.empty() ? "the value is empty" : "");
      });
}

std::optional<int> parse_number(std::string_view text, int least, int most) {
  int value = 0;
  const char* const end = text.data() + text.size();
  const auto [rest, error] = std::from_chars(text.data(), end, value);
  if (error != std::errc() || rest != end || value < least || value > most) return std::nullopt;
  return value;
}

int option_number(const char* option, const std::string& text, int least, int most) {
  if (const auto value = parse_number(text, least, most)) return *value;
  refuse(std::string(option) + " is a number from " + std::to_string(least) + " to " +
         std::to_string(most) + ", not \"" + display_text(text) + '"');
}

Duration option_duration(const char* option, const std::string& text, Duration least,
                         Duration most) {
  const Duration value = parse_duration(text);
  if (value >= least && value <= most) return value;
  refuse(std::string(option) + " is from " + text_of(least) + " to " + text_of(most) + ", not " +
         text_of(value));
}

void declare_sort(CLI::App& options, RowOrder& order) {
  options
      .add_option_function<std::string>(
          "--sort", [&order](const std::string& name) { order = row_order(name).value(); },
          "Order of the locks: path, held or waiting")
      ->check(CLI::IsMember({"path", "held", "waiting"}))
      ->type_name("ORDER");
}

void declare_fail_on(CLI::App& options, Level& level) {
  options
      .add_option_function<std::string>(
          "--fail-on",
          [&level](const std::string& name) {
            level = name == "failure" ? Level::failure : Level::warning;
          },
          "Lowest level with an exit code: warning (default) or failure")
      ->check(CLI::IsMember({"warning", "failure"}))
      ->type_name("LEVEL");
}

}  // namespace zklock::cli
