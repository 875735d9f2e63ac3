// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "zklock/cli/command.h"

namespace zklock::cli {

/// Declares `doctor`: checks the servers, the session, the clock, this host and one path.
Action declare_doctor(CLI::App& options);

}  // namespace zklock::cli
