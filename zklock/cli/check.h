// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "zklock/cli/command.h"

namespace zklock::cli {

/// Declares `check`: what is wrong with the locks below a path. The table is at findings().
Action declare_check(CLI::App& options);

}  // namespace zklock::cli
