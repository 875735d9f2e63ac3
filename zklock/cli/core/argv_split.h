// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace zklock::cli {

/// Returns whether there is an option of that name ("-w", "--note"), and a value follows it.
using TakesValue = std::function<bool(std::string_view option)>;

/// The arguments of a command that starts a program, cut in two.
struct SplitArguments {
  std::vector<std::string> own;      ///< options of zklock, and the path
  std::vector<std::string> program;  ///< the program and its arguments, unread
};

/// Returns the index of the first argument that is neither an option nor the value of one. Returns
/// the number of arguments if there is none. A "--" ends the options. Reads "--name=value",
/// "--name value", "-wVALUE", "-w VALUE", and flags in one argument: "-nsw VALUE".
[[nodiscard]] std::size_t first_operand(std::span<const std::string> arguments,
                                        const TakesValue& takes_value);

/// Cuts the arguments behind the path, which is the first operand. If "--" follows the path, it is
/// dropped. All other arguments behind the path belong to the program.
/// Throws: Failure with ExitCode::kUsage if an option follows the path directly, without "--".
[[nodiscard]] SplitArguments split_arguments(std::span<const std::string> arguments,
                                             const TakesValue& takes_value);

}  // namespace zklock::cli
