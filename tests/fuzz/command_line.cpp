// SPDX-License-Identifier: Apache-2.0
// The command line of zklock: durations, texts of other programs, and the cut before the command.
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <sstream>
#include <string>
#include <string_view>
#include <vector>

#include "tests/fuzz/target.h"
#include "zklock/cli/core/argv_split.h"
#include "zklock/cli/core/duration.h"
#include "zklock/cli/core/failure.h"
#include "zklock/cli/core/text.h"

namespace zklock::fuzz {
namespace {

using namespace zklock::cli;

void check_duration(const std::string& text) {
  try {
    const Duration duration = parse_duration(text);
    require(duration >= Duration{} && !text_of(duration).empty(), "a duration");
  } catch (const Failure& failure) {
    require(failure.exit_code() == ExitCode::kUsage, "a usage error");
    require(display_text(failure.what()) == failure.what(), "a text for a terminal");
  }
}

void check_text(const std::string& text) {
  const std::string shown = display_text(text);
  require(shown.size() <= text.size() && is_fit_to_be_shown(shown), "a text for a terminal");
  require(display_text(shown) == shown, "an equal text when shown again");
}

bool takes_value(std::string_view name) {
  return name.back() % 2 == 0;
}

void check_split(const std::string& text) {
  std::vector<std::string> words;
  std::istringstream lines(text);
  for (std::string word; std::getline(lines, word, '\n');) words.push_back(word);
  try {
    const SplitArguments split = split_arguments(words, &takes_value);
    const std::size_t cut = split.own.size();
    require(cut <= words.size() && std::equal(split.own.begin(), split.own.end(), words.begin()),
            "own arguments at the front");
    const std::size_t dropped = words.size() - cut - split.program.size();
    require(dropped == 0 || (dropped == 1 && words[cut] == "--"), "only -- is dropped");
    require(std::equal(split.program.rbegin(), split.program.rend(), words.rbegin()),
            "an unread program");
  } catch (const Failure& failure) {
    require(failure.exit_code() == ExitCode::kUsage, "a usage error");
  }
}

}  // namespace
}  // namespace zklock::fuzz

int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  if (size == 0) return 0;
  const std::string text(zklock::fuzz::as_text(data + 1, size - 1));
  switch (data[0]) {
    case 'd': zklock::fuzz::check_duration(text); break;
    case 't': zklock::fuzz::check_text(text); break;
    default: zklock::fuzz::check_split(text); break;
  }
  return 0;
}
