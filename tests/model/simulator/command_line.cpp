// SPDX-License-Identifier: Apache-2.0
#include "tests/model/simulator/command_line.h"

#include <charconv>
#include <cstddef>
#include <system_error>

namespace zklock::simulator {

namespace {

template <class Number>
bool read_number(const std::string& text, Number& number) {
  const char* const all = text.data() + text.size();
  const auto [end, error] = std::from_chars(text.data(), all, number);
  return error == std::errc() && end == all;
}

bool read_value(const std::string& word, const std::string& value, CommandLine& command_line) {
  if (word == "--seeds") return read_number(value, command_line.seeds);
  if (word == "--from") return read_number(value, command_line.from);
  if (word == "--minutes") {
    return read_number(value, command_line.minutes) && command_line.minutes >= 0 &&
           command_line.minutes <= kMostMinutes;
  }
  if (word == "--threads") {
    return read_number(value, command_line.workers) && command_line.workers >= 1 &&
           command_line.workers <= kMostWorkers;
  }
  if (word == "--seed") return read_number(value, command_line.seed.emplace());
  if (word == "--plan") {
    command_line.plan = value;
    return true;
  }
  return false;
}

}  // namespace

std::optional<CommandLine> parse_command_line(const std::vector<std::string>& words) {
  CommandLine command_line;
  for (std::size_t i = 0; i < words.size(); ++i) {
    const std::string& word = words[i];
    if (word == "--no-shrink") {
      command_line.shrinks = false;
    } else if (word == "--keep-going") {
      command_line.keep_going = true;
    } else if (++i == words.size() || !read_value(word, words[i], command_line)) {
      return std::nullopt;
    }
  }
  return command_line;
}

}  // namespace zklock::simulator
