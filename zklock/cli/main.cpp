// SPDX-License-Identifier: Apache-2.0
#include <exception>
#include <string>
#include <vector>

#include "zklock/cli/command.h"
#include "zklock/cli/command_support.h"
#include "zklock/cli/core/failure.h"
#include "zklock/cli/io/standard_streams.h"

int main(int argc, char** argv) {
  using namespace zklock::cli;
  fill_standard_streams();
  try {
    const std::vector<std::string> arguments(argv + (argc > 0 ? 1 : 0), argv + argc);
    return run_arguments(arguments);
  } catch (const std::exception&) {
    const Failure failure = failure_of(std::current_exception());
    write_line(std::string("zklock: ") + failure.what());
    return failure.exit_code();
  }
}
