// SPDX-License-Identifier: Apache-2.0
// Runs random scripts on the simulated ensemble and on a real server: see README.md.
#include <array>
#include <cstdlib>
#include <iostream>
#include <map>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "tests/differential/player.h"
#include "tests/differential/real_side.h"
#include "tests/differential/script.h"
#include "tests/differential/sim_side.h"

namespace zklock::differential {
namespace {

std::uint64_t setting(const char* name, std::uint64_t otherwise) {
  const char* text = std::getenv(name);
  return text != nullptr ? std::strtoull(text, nullptr, 10) : otherwise;
}

/// How often each reply and event was observed.
using Coverage = std::map<std::string, std::size_t>;

// With fewer scripts, chance decides whether each of these is observed.
constexpr std::uint64_t kEnoughForAll = 200;
constexpr std::array kImportant{"CreateContender: ok",
                                "CreateContender: ok, path existed",
                                "CreateContender: no such node",
                                "CreateContender: not authorized",
                                "CreateContender: node exists",
                                "CreateContender: server error",
                                "CreateParents: ok",
                                "ListChildren: ok",
                                "ListChildren: not authorized",
                                "Get: ok",
                                "Get: not authorized",
                                "Check: ok",
                                "Check: no such node",
                                "Delete: ok",
                                "Delete: no such node",
                                "Delete: node has children",
                                "AnnounceAndDelete: ok",
                                "AnnounceAndDelete: not authorized",
                                "Transaction: ok",
                                "Transaction: no such node",
                                "Transaction: node exists",
                                "Transaction: node has children",
                                "Transaction: another version",
                                "Transaction: not authorized",
                                "Transaction: server error",
                                "GetAndWatch: ok",
                                "GetAndWatch: ok, unreadable",
                                "GetAndWatch: event changed",
                                "GetAndWatch: event deleted",
                                "ExistsAndWatch: event created",
                                "ExistsAndWatch: event changed",
                                "ExistsAndWatch: event deleted",
                                "ListAndWatch: event children",
                                "ListAndWatch: event deleted",
                                "CreateContender: ok, path existed, after an outage",
                                "ExistsAndWatch: event changed, after an outage",
                                "ExistsAndWatch: event deleted, after an outage",
                                "ListAndWatch: event children, after an outage"};

struct AcquireOutcome {
  std::vector<std::string> simulated;
  std::vector<std::string> real;
  bool differ() const { return simulated != real; }
};

std::string in_words(const Script& script, const AcquireOutcome& outcome) {
  std::string text = "seed " + std::to_string(script.seed);
  if (script.left_to_end) {
    text += ", the counter of /end is " + std::to_string(*script.left_to_end) + " below its end";
  }
  text += '\n';
  for (const ScriptStep& step : script.steps) text += to_text(step) + '\n';
  const auto add = [&text](const char* side, const std::vector<std::string>& lines,
                           const std::vector<std::string>& others) {
    text += std::string("--- ") + side + '\n';
    for (std::size_t i = 0; i < lines.size(); ++i) {
      const bool differs = i >= others.size() || lines[i] != others[i];
      text += (differs ? "* " : "  ") + lines[i] + '\n';
    }
  };
  add("simulated", outcome.simulated, outcome.real);
  add("real", outcome.real, outcome.simulated);
  return text;
}

class Differential : public ::testing::Test {
 protected:
  static constexpr std::size_t kMaxShrinkingRuns = 300;

  AcquireOutcome play_on_both(const Script& script) {
    const Transcript simulated = play(script, simulated_);
    const Transcript real = play(script, real_);
    for (const StepRecord& record : real) {
      for (const Fact& fact : record.facts) {
        if (!fact.kind.empty()) ++coverage_[fact.kind];
      }
    }
    return {to_lines(simulated), to_lines(real)};
  }

  // Drops steps as long as the two sides still differ. Returns the rest in words.
  std::string smallest_difference(Script script, AcquireOutcome outcome) {
    std::size_t runs = 0;
    for (bool dropped = true; dropped;) {
      dropped = false;
      for (std::size_t i = script.steps.size(); i-- > 0;) {
        if (++runs > kMaxShrinkingRuns || !real_.can_begin(script))
          return in_words(script, outcome);
        Script smaller = script;
        smaller.steps.erase(smaller.steps.begin() + static_cast<std::ptrdiff_t>(i));
        AcquireOutcome other = play_on_both(smaller);
        if (!other.differ()) continue;
        script = std::move(smaller);
        outcome = std::move(other);
        dropped = true;
      }
    }
    return in_words(script, outcome);
  }

  const std::uint64_t scripts_ = setting("ZKLOCK_DIFFERENTIAL_SCRIPTS", 300);
  const std::uint64_t first_ = setting("ZKLOCK_DIFFERENTIAL_SEED", 1);
  // A sixth of the scripts has an /end: a third of those for each distance. 60 more are for
  // shrinking.
  const std::size_t ends_ = static_cast<std::size_t>(scripts_ / 12) + 60;
  RealSide real_{{ends_, ends_, ends_}};
  SimSide simulated_{real_.exists_rule()};
  Coverage coverage_;
};

TEST_F(Differential, RandomScripts_NoDifference) {
  for (std::uint64_t seed = first_; seed < first_ + scripts_; ++seed) {
    const Script script = make_script(seed);
    ASSERT_TRUE(real_.can_begin(script)) << "no directory is left for seed " << seed;
    const AcquireOutcome outcome = play_on_both(script);
    ASSERT_FALSE(outcome.differ()) << smallest_difference(script, outcome);
  }
  for (const auto& [kind, count] : coverage_) std::cout << count << ' ' << kind << '\n';
  if (scripts_ < kEnoughForAll) return;
  for (const char* kind : kImportant) EXPECT_GT(coverage_[kind], 0U) << kind;
}

}  // namespace
}  // namespace zklock::differential
