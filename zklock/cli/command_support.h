// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <exception>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "zklock/cli/command.h"
#include "zklock/cli/core/columns.h"
#include "zklock/cli/core/duration.h"
#include "zklock/cli/core/failure.h"
#include "zklock/cli/core/findings.h"
#include "zklock/cli/core/lock_selection.h"
#include "zklock/cli/core/snapshot.h"
#include "zklock/cli/settings.h"
#include "zklock/client.h"
#include "zklock/error.h"

namespace zklock::cli {

/// Replaces names of the library's API: "check the hosts" for "check ClientOptions::hosts".
[[nodiscard]] std::string without_api_names(std::string text);
/// Returns the cause of the error and its code, without the operation and the path, which zklock's
/// own lines have already.
[[nodiscard]] std::string text_of(const Error& error);
/// Returns the failure that an exception means: of the library, the system, or a bug.
[[nodiscard]] Failure failure_of(const std::exception_ptr& error);

/// Returns the options of a client of this command. Throws: Failure if the system has no threads
/// for it.
[[nodiscard]] ClientOptions client_options(const Settings& settings);
/// Makes a client for a command that reads. Does not wait for a connection: the first request fails
/// after five seconds, and its error has the cause.
std::unique_ptr<Client> view_client(const Settings& settings);

/// Writes a line to the standard output at once. Returns 0, or the error number.
[[nodiscard]] int try_print_line(const std::string& line);
/// Writes a line to the standard output at once. Throws: Failure with ExitCode::kOutput.
void print_line(const std::string& line);
/// Prints the lines of a table. On a terminal, they are cut to its width, and have colours.
void print_table(const Table& table);
/// Prints these locks of a snapshot: a table, or a JSON object for each.
void print_locks(const Settings& settings, const Snapshot& snapshot,
                 std::span<const SurveyedLock* const> rows);

/// Declares an option. `read` receives its value, which is not empty, and may throw Failure.
CLI::Option* declare_option(CLI::App& options, const char* names, const char* type,
                            const char* text, const std::function<void(const std::string&)>& read);
/// Returns std::nullopt if the text is not a number from `least` to `most`.
std::optional<int> parse_number(std::string_view text, int least, int most);
/// Return the value of an option. Throw: Failure with ExitCode::kUsage.
int option_number(const char* option, const std::string& text, int least, int most);
Duration option_duration(const char* option, const std::string& text, Duration least,
                         Duration most);
/// Declares an option that sets `to`, a Duration or an optional one, to a value from `least` to
/// `most`. REQUIRES: `to` outlives the parse.
template <class Target>
void declare_duration(CLI::App& options, const char* names, const char* text, Target& to,
                      Duration least = {}, Duration most = kLongestDuration) {
  declare_option(options, names, "DUR", text, [names, least, most, &to](const std::string& value) {
    to = option_duration(names, value, least, most);
  });
}
/// Declares the option --sort, which sets `order`.
void declare_sort(CLI::App& options, RowOrder& order);
/// Declares the option --fail-on, which sets `level`.
void declare_fail_on(CLI::App& options, Level& level);

}  // namespace zklock::cli
