// SPDX-License-Identifier: Apache-2.0
#include "zklock/cli/core/argv_split.h"

#include <string>
#include <string_view>
#include <vector>

#include <gtest/gtest.h>

#include "zklock/cli/core/failure.h"

namespace zklock::cli {
namespace {

using Texts = std::vector<std::string>;

bool takes_value(std::string_view name) {
  return name == "-w" || name == "--wait" || name == "-c" || name == "--note";
}

struct Case {
  Texts arguments;
  Texts own;
  Texts program;
};

TEST(ArgvSplit, EachForm_IsCutBehindThePath) {
  const std::vector<Case> cases{
      {{"/x", "ls"}, {"/x"}, {"ls"}},
      {{"/x", "--", "ls"}, {"/x"}, {"ls"}},
      {{"/x", "ls", "--", "a"}, {"/x"}, {"ls", "--", "a"}},
      {{"/x", "ls", "-n", "-w", "5s"}, {"/x"}, {"ls", "-n", "-w", "5s"}},
      {{"/x", "ls", "--help"}, {"/x"}, {"ls", "--help"}},
      {{"/x", "--", "-n"}, {"/x"}, {"-n"}},
      {{"/x", "--", "--", "a"}, {"/x"}, {"--", "a"}},
      {{"-n", "/x", "ls"}, {"-n", "/x"}, {"ls"}},
      {{"-w", "5s", "/x", "ls"}, {"-w", "5s", "/x"}, {"ls"}},
      {{"-w5s", "/x", "ls"}, {"-w5s", "/x"}, {"ls"}},
      {{"-nsw", "5s", "/x", "ls"}, {"-nsw", "5s", "/x"}, {"ls"}},
      {{"-nsw5s", "/x", "ls"}, {"-nsw5s", "/x"}, {"ls"}},
      {{"--wait=5s", "/x", "ls"}, {"--wait=5s", "/x"}, {"ls"}},
      {{"--wait", "5s", "/x", "ls"}, {"--wait", "5s", "/x"}, {"ls"}},
      {{"--note", "-n", "/x", "ls"}, {"--note", "-n", "/x"}, {"ls"}},
      {{"--", "/x", "ls"}, {"--", "/x"}, {"ls"}},
      {{"--", "-x", "ls"}, {"--", "-x"}, {"ls"}},
      {{"-c", "echo hi", "/x"}, {"-c", "echo hi", "/x"}, {}},
      {{"/x"}, {"/x"}, {}},
      {{"/x", "--"}, {"/x"}, {}},
      {{"--help"}, {"--help"}, {}},
      {{"-w"}, {"-w"}, {}},
      {{}, {}, {}},
      {{"/x", "-"}, {"/x"}, {"-"}},
      {{"--unknown", "/x", "ls"}, {"--unknown", "/x"}, {"ls"}},
      {{"/x", "sh", "-c", "echo"}, {"/x"}, {"sh", "-c", "echo"}},
      {{"/x", ""}, {"/x"}, {""}},
  };
  for (const Case& each : cases) {
    const SplitArguments split = split_arguments(each.arguments, &takes_value);
    EXPECT_EQ(split.own, each.own);
    EXPECT_EQ(split.program, each.program);
  }
}

TEST(ArgvSplit, OptionBehindThePath_IsRefused) {
  for (const char* const option : {"-c", "--wait", "-unknown"}) {
    const Texts arguments{"/x", option, "a"};
    EXPECT_THROW((void)split_arguments(arguments, &takes_value), Failure) << option;
  }
}

TEST(ArgvSplit, FirstOperand_IsTheCommand) {
  EXPECT_EQ(first_operand(Texts{"-w", "5s", "run", "/x"}, &takes_value), 2U);
  EXPECT_EQ(first_operand(Texts{"-n"}, &takes_value), 1U);
}

}  // namespace
}  // namespace zklock::cli
