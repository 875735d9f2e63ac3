// SPDX-License-Identifier: Apache-2.0
#include "zklock/cli/core/argv_split.h"

#include <cstddef>

#include "zklock/cli/core/failure.h"
#include "zklock/cli/core/text.h"

namespace zklock::cli {

namespace {

bool is_option(std::string_view argument) {
  return argument.size() > 1 && argument.front() == '-';
}

/// Returns whether the value of the last option in `argument` is the next argument.
bool value_follows(std::string_view argument, const TakesValue& takes_value) {
  if (argument.starts_with("--")) {
    return argument.find('=') == std::string_view::npos && takes_value(argument);
  }
  for (std::size_t i = 1; i < argument.size(); ++i) {
    const std::string letter{'-', argument[i]};
    if (takes_value(letter)) return i + 1 == argument.size();
  }
  return false;
}

}  // namespace

std::size_t first_operand(std::span<const std::string> arguments, const TakesValue& takes_value) {
  std::size_t i = 0;
  while (i < arguments.size()) {
    const std::string_view argument = arguments[i];
    if (argument == "--") return i + 1;
    if (!is_option(argument)) return i;
    i += value_follows(argument, takes_value) ? 2 : 1;
  }
  return arguments.size();
}

SplitArguments split_arguments(std::span<const std::string> arguments,
                               const TakesValue& takes_value) {
  const std::size_t path = first_operand(arguments, takes_value);
  if (path >= arguments.size()) return {{arguments.begin(), arguments.end()}, {}};
  const auto behind = arguments.subspan(path + 1);
  SplitArguments split{
      {arguments.begin(), arguments.begin() + static_cast<std::ptrdiff_t>(path + 1)},
      {behind.begin(), behind.end()}};
  if (behind.empty() || !is_option(behind.front())) return split;
  if (behind.front() != "--") {
    throw Failure(ExitCode::kUsage,
                  '"' + display_text(behind.front()) +
                      "\" follows the path; options precede it, or write -- if it is the command");
  }
  split.program.erase(split.program.begin());
  return split;
}

}  // namespace zklock::cli
