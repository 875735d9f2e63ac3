// SPDX-License-Identifier: Apache-2.0
// Command lines of the test programs: the simulator's options and plans, and the benchmark's
// commands. Accepted text is valid and parses to an equal value when it is printed again. Other
// text is refused by a return value or by the one promised exception.
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <sstream>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

#include "bench/params.h"
#include "tests/fuzz/target.h"
#include "tests/model/simulator/command_line.h"
#include "tests/model/simulator/plan.h"

namespace zklock::fuzz {
namespace {

std::vector<std::string> words_of(const std::string& text) {
  std::vector<std::string> words;
  std::istringstream lines(text);
  for (std::string word; std::getline(lines, word, '\n');) words.push_back(word);
  return words;
}

std::vector<std::string> said_again(const simulator::CommandLine& command_line) {
  std::vector<std::string> words{"--seeds",   std::to_string(command_line.seeds),
                                 "--from",    std::to_string(command_line.from),
                                 "--threads", std::to_string(command_line.workers)};
  if (command_line.seed) {
    words.emplace_back("--seed");
    words.push_back(std::to_string(*command_line.seed));
  }
  words.emplace_back("--plan");
  words.push_back(command_line.plan);
  if (!command_line.shrinks) words.emplace_back("--no-shrink");
  if (command_line.keep_going) words.emplace_back("--keep-going");
  return words;
}

void check_wishes(const std::string& text) {
  const auto command_line = simulator::parse_command_line(words_of(text));
  if (!command_line) return;
  require(command_line->minutes >= 0 && command_line->minutes <= simulator::kMostMinutes,
          "so many minutes");
  require(command_line->workers >= 1 && command_line->workers <= simulator::kMostWorkers,
          "so many workers");
  auto again = simulator::parse_command_line(said_again(*command_line));
  require(again.has_value(), "it can be said again");
  again->minutes = command_line->minutes;
  require(*again == *command_line, "the same command_line");
}

void check_plan(const std::string& text) {
  const auto plan = simulator::parse_plan(text);
  if (!plan) return;
  require(plan->setup.slots >= 1 && plan->setup.slots <= static_cast<int>(simulator::kMostSlots),
          "processes that there are");
  for (const auto& object : plan->setup.objects) {
    require(object.kind <= last(object.kind), "a class that there is");
  }
  for (const auto& step : plan->steps) {
    require(step.act <= last(step.act) && step.ending <= last(step.ending) &&
                static_cast<std::size_t>(step.fault) < simulator::kFaultClasses,
            "what can be done");
  }
  require(simulator::parse_plan(to_text(*plan)) == plan, "the same plan");
}

void check_params(const std::string& text) {
  try {
    const bench::Params params(text);
    if (params.has("n")) require(std::to_string(params.number("n")).size() <= 20, "a number");
    if (!params.has("s")) return;
    const auto length = params.seconds("s");
    require(
        length >= bench::Clock::duration::zero() && length <= std::chrono::seconds(1'000'000'000),
        "a length of time");
  } catch (const std::invalid_argument& error) {
    require(*error.what() != '\0', "it says why");
  }
}

}  // namespace
}  // namespace zklock::fuzz

int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  if (size == 0) return 0;
  const std::string text(zklock::fuzz::as_text(data + 1, size - 1));
  switch (data[0]) {
    case 'w': zklock::fuzz::check_wishes(text); break;
    case 'p': zklock::fuzz::check_plan(text); break;
    default: zklock::fuzz::check_params(text); break;
  }
  return 0;
}
