// SPDX-License-Identifier: Apache-2.0
// Part of the test programs and the simulator in the build of auto.py. Prints which mutated
// functions ran: after each test, or at the end of the simulator.
#include <cstdio>
#include <string>

#include "tests/mutants/mutant_switch.h"

#ifdef ZKLOCK_MUTANTS_IN_TEST
#include <gtest/gtest.h>
#endif

namespace {

/// Prints the mutants whose functions ran since the last call.
void print_reached(const std::string& test) {
  if (zklock_mutants::reached == nullptr) return;
  std::string line = "REACHED " + test + ":";
  for (int i = 0; i < zklock_mutants::kMost; ++i) {
    if (zklock_mutants::reached[i].exchange(false)) line += ' ' + std::to_string(i);
  }
  std::printf("\n%s\n", line.c_str());
  std::fflush(stdout);
}

#ifdef ZKLOCK_MUTANTS_IN_TEST
class Printer : public testing::EmptyTestEventListener {
  void OnTestEnd(const testing::TestInfo& test) override {
    print_reached(std::string(test.test_suite_name()) + '.' + test.name());
  }
};

[[maybe_unused]] const bool is_added = [] {
  testing::UnitTest::GetInstance()->listeners().Append(new Printer);
  return true;
}();
#else
struct Printer {
  ~Printer() { print_reached("simulate"); }
};

[[maybe_unused]] const Printer printer;
#endif

}  // namespace
