// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <cstddef>
#include <functional>
#include <memory>
#include <string>

#include "zklock/cli/core/columns.h"
#include "zklock/cli/settings.h"
#include "zklock/client.h"

namespace zklock::cli {

/// Runs a command that needs no hold. Puts its name and the path before the text of each failure.
/// Throws: Failure.
int run_view(const char* name, const std::string& path, const std::function<int()>& command);

/// Makes a client for a command that reads. Does not wait for a connection: the first request fails
/// after five seconds, and its error has the cause.
std::unique_ptr<Client> view_client(const Settings& settings, const char* application);

/// Writes a line to the standard output at once. Returns false if that is closed.
bool print_line(const std::string& line);
/// Prints the lines of a table, cut to the width of the terminal.
void print_table(const Table& table);

/// Returns the width of the terminal of the standard output, else of COLUMNS; 0: no terminal.
std::size_t output_width();

}  // namespace zklock::cli
