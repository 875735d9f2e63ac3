// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "zklock/cli/command.h"

namespace zklock::cli {

/// Declares `ls`: the contenders of a lock, or the locks below a path.
Action declare_list(CLI::App& options);

}  // namespace zklock::cli
