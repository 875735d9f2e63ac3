// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <cstddef>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "zklock/cli/command.h"
#include "zklock/cli/core/columns.h"
#include "zklock/cli/core/duration.h"
#include "zklock/cli/core/findings.h"
#include "zklock/cli/core/lock_rows.h"
#include "zklock/cli/core/snapshot.h"
#include "zklock/cli/settings.h"
#include "zklock/client.h"

namespace zklock::cli {

/// Makes a client for a command that reads. Does not wait for a connection: the first request fails
/// after five seconds, and its error has the cause.
std::unique_ptr<Client> view_client(const Settings& settings, const char* application);

/// Reads all locks at and below a root, as read_snapshot(). If that takes long, says on the
/// standard error output how far it is, unless -q is given. `place`: as in the texts of failures.
/// Throws: Error.
Snapshot read_with_progress(Client& client, const Settings& settings, const std::string& place,
                            const std::string& root, const SurveyOptions& limits);

/// Writes a line to the standard output at once. Returns 0, or the error number.
[[nodiscard]] int try_print_line(const std::string& line);
/// Writes a line to the standard output at once. Throws: Failure with ExitCode::kOutput.
void print_line(const std::string& line);
/// Prints the lines of a table. On a terminal, they are cut to its width, and have colours.
void print_table(const Table& table);

/// Prints these locks of a snapshot: a table, or a JSON object for each.
void print_locks(const Settings& settings, const Snapshot& snapshot,
                 std::span<const SurveyedLock* const> rows);

/// Says on the standard error output how many paths the snapshot lacks, if any. `place`: as in the
/// texts of failures.
void report_unread(const std::string& place, const Snapshot& snapshot);
/// Throws: Failure if the root of the snapshot does not exist, or is not readable.
void check_root(const Snapshot& snapshot);

/// Declares an option. `read` receives its value, which is not empty, and may throw Failure.
CLI::Option* declare_option(CLI::App& options, const char* names, const char* type,
                            const char* text, const std::function<void(const std::string&)>& read);
/// Returns std::nullopt if the text is not a number from `least` to `most`.
std::optional<int> parse_number(std::string_view text, int least, int most);
/// Return the value of an option. Throw: Failure with ExitCode::kUsage.
int option_number(const char* option, const std::string& text, int least, int most);
Duration option_duration(const char* option, const std::string& text, Duration least,
                         Duration most);

/// Declares the option --sort, which sets `order`.
void declare_sort(CLI::App& options, RowOrder& order);
/// Declares the option --fail-on, which sets `level`.
void declare_fail_on(CLI::App& options, Level& level);

}  // namespace zklock::cli
