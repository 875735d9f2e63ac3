// SPDX-License-Identifier: Apache-2.0
#include "zklock/cli/commands.h"

#include <array>

#include "zklock/cli/check.h"
#include "zklock/cli/doctor.h"
#include "zklock/cli/elect.h"
#include "zklock/cli/hold.h"
#include "zklock/cli/list.h"
#include "zklock/cli/permits.h"
#include "zklock/cli/release.h"
#include "zklock/cli/run_command.h"
#include "zklock/cli/serve.h"
#include "zklock/cli/top.h"
#include "zklock/cli/watch.h"

namespace zklock::cli {

std::span<const Command> commands() {
  static constexpr std::array kCommands{
      Command{"run", "Run a program while holding a lock", true, &declare_run},
      Command{"elect", "Run a program while leading an election", true, &declare_elect},
      Command{"hold", "Hold a lock until a signal", false, &declare_hold},
      Command{"ls", "List all locks, those below a path, or the contenders of a lock", false,
              &declare_list},
      Command{"watch", "Print a line for each change of a lock", false, &declare_watch},
      Command{"top", "Show the locks below a path, refreshed", false, &declare_top},
      Command{"permits", "Show or set the permit count of a semaphore", false, &declare_permits},
      Command{"release", "Request or force the release of a lock", false, &declare_release},
      Command{"check", "Find deadlocks and other problems of locks", false, &declare_check},
      Command{"doctor", "Check servers, session and one path", false, &declare_doctor},
      Command{"serve", "Serve a live page of all locks, and metrics", false, &declare_serve},
  };
  return kCommands;
}

}  // namespace zklock::cli
