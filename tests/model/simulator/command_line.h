// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace zklock::simulator {

inline constexpr unsigned kMostWorkers = 64;
inline constexpr double kMostMinutes = 1e6;

/// The arguments of the command line.
struct CommandLine {
  std::uint64_t seeds = 0;
  std::uint64_t from = 1;
  double minutes = 0;
  unsigned workers = 1;
  std::optional<std::uint64_t> seed = {};
  std::string plan = {};
  bool shrinks = true;
  bool keep_going = false;
  friend bool operator==(const CommandLine&, const CommandLine&) = default;
};

/// Returns std::nullopt if a word is unknown, or if a value is missing or out of range.
std::optional<CommandLine> parse_command_line(const std::vector<std::string>& words);

}  // namespace zklock::simulator
