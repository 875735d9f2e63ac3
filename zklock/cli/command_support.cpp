// SPDX-License-Identifier: Apache-2.0
#include "zklock/cli/command_support.h"

#include <cerrno>
#include <charconv>
#include <cstdio>
#include <cstdlib>
#include <system_error>
#include <utility>

#include <CLI/CLI.hpp>
#include <sys/ioctl.h>
#include <unistd.h>

#include "zklock/cli/command_text.h"
#include "zklock/cli/core/failure.h"
#include "zklock/cli/core/json_text.h"
#include "zklock/cli/core/lock_tables.h"
#include "zklock/cli/core/text.h"
#include "zklock/cli/io/scarce_resources.h"
#include "zklock/cli/io/standard_streams.h"
#include "zklock/cli/survey_pass.h"
#include "zklock/error.h"

namespace zklock::cli {

namespace {

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

std::unique_ptr<Client> view_client(const Settings& settings, const char* application) {
  check_threads();
  ClientOptions options = client_options(settings, application);
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

void report_unread(const std::string& place, const Snapshot& snapshot) {
  if (snapshot.unread() == 0) return;
  say(place, counted(snapshot.unread(), "path") + " not read: " +
                 std::to_string(snapshot.unreadable.size()) + " without READ permission, " +
                 std::to_string(snapshot.too_deep.size()) + " too deep");
}

void check_root(const Snapshot& snapshot) {
  if (!snapshot.has_root()) {
    throw Failure(ExitCode::kData, snapshot.root == "/" ? "the chroot of HOSTS does not exist"
                                                        : "the path does not exist");
  }
  const bool is_unreadable = snapshot.locks.empty() && snapshot.unreadable.size() == 1 &&
                             snapshot.unreadable.front() == snapshot.root;
  if (is_unreadable) throw Failure(ExitCode::kNoPermission, "no READ permission");
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
  const CycleMarks marks = cycle_marks(snapshot.cycles);
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
          "--sort",
          [&order](const std::string& name) {
            order = name == "path"   ? RowOrder::path
                    : name == "held" ? RowOrder::held
                                     : RowOrder::waiting;
          },
          "Order of the locks: path, held or waiting")
      ->check(CLI::IsMember({"path", "held", "waiting"}))
      ->type_name("ORDER");
}

Snapshot read_with_progress(Client& client, const Settings& settings, const std::string& place,
                            const std::string& root, const SurveyOptions& limits) {
  if (settings.quiet) return read_snapshot(client, root, limits);
  return read_snapshot(client, root, limits, {}, [&](const Snapshot& snapshot) {
    say(place, counted(snapshot.visited, "path") + " read, with " +
                   counted(snapshot.locks.size(), "lock") + "; at most " +
                   std::to_string(limits.requests_per_second) + " requests a second");
  });
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
