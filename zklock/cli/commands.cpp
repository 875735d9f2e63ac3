// SPDX-License-Identifier: Apache-2.0
#include "zklock/cli/commands.h"

#include <array>

#include "zklock/cli/run_command.h"

namespace zklock::cli {

std::span<const Command> commands() {
  static constexpr std::array kCommands{
      Command{"run", "Run a program while holding a lock", true, &declare_run},
  };
  return kCommands;
}

}  // namespace zklock::cli
