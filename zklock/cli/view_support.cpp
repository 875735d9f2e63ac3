// SPDX-License-Identifier: Apache-2.0
#include "zklock/cli/view_support.h"

#include <cerrno>
#include <charconv>
#include <cstdio>
#include <cstdlib>
#include <string_view>
#include <system_error>
#include <utility>

#include <sys/ioctl.h>
#include <unistd.h>

#include "zklock/cli/core/display_text.h"
#include "zklock/cli/core/failure.h"
#include "zklock/cli/error_text.h"
#include "zklock/cli/io/standard_streams.h"
#include "zklock/error.h"

namespace zklock::cli {

int run_view(const char* name, const std::string& path, const std::function<int()>& command) {
  const std::string place =
      std::string(name) + (path.empty() ? "" : " " + display_text(path)) + ": ";
  try {
    return command();
  } catch (const Failure& failure) {
    throw Failure(failure.exit_code(), place + failure.what());
  } catch (const Error& error) {
    throw Failure(exit_code_of(error.errc()), place + text_of(error));
  }
}

std::unique_ptr<Client> view_client(const Settings& settings, const char* application) {
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
  write_line("zklock: " + display_text(place) + ": " + std::to_string(snapshot.unread()) +
             " paths not read: " + std::to_string(snapshot.unreadable.size()) +
             " without READ permission, " + std::to_string(snapshot.too_deep.size()) + " too deep");
}

void check_root(const Snapshot& snapshot) {
  if (!snapshot.has_root()) throw Failure(ExitCode::kData, "the path does not exist");
  const bool is_unreadable = snapshot.locks.empty() && snapshot.unreadable.size() == 1 &&
                             snapshot.unreadable.front() == snapshot.root;
  if (is_unreadable) throw Failure(ExitCode::kNoPermission, "no READ permission");
}

void print_table(const Table& table) {
  for (const std::string& line : table.lines(output_width())) print_line(line);
}

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

}  // namespace zklock::cli
