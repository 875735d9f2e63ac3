// SPDX-License-Identifier: Apache-2.0
#include <exception>
#include <string>
#include <system_error>
#include <vector>

#include "zklock/cli/command.h"
#include "zklock/cli/command_support.h"
#include "zklock/cli/core/failure.h"
#include "zklock/cli/io/standard_streams.h"
#include "zklock/error.h"

int main(int argc, char** argv) {
  using namespace zklock::cli;
  fill_standard_streams();
  try {
    const std::vector<std::string> arguments(argv + (argc > 0 ? 1 : 0), argv + argc);
    return run_arguments(arguments);
  } catch (const Failure& failure) {
    write_line(std::string("zklock: ") + failure.what());
    return failure.exit_code();
  } catch (const zklock::Error& error) {
    write_line("zklock: " + without_api_names(error.what()));
    return exit_code_of(error.errc());
  } catch (const std::system_error& error) {  // no thread or descriptor
    write_line(std::string("zklock: ") + error.what());
    return ExitCode::kSystem;
  } catch (const std::exception& error) {
    write_line(std::string("zklock: ") + error.what());
    return ExitCode::kInternal;
  }
}
