// SPDX-License-Identifier: Apache-2.0
#include "zklock/cli/view_support.h"

#include <charconv>
#include <cstdio>
#include <cstdlib>
#include <string_view>
#include <utility>

#include <sys/ioctl.h>
#include <unistd.h>

#include "zklock/cli/core/display_text.h"
#include "zklock/cli/core/failure.h"
#include "zklock/cli/error_text.h"
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

bool print_line(const std::string& line) {
  return std::fputs((line + "\n").c_str(), stdout) >= 0 && std::fflush(stdout) == 0;
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
