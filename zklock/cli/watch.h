// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "zklock/cli/command.h"

namespace zklock::cli {

/// Declares `watch`: a line for each change of a lock, until a signal ends it.
Action declare_watch(CLI::App& options);

}  // namespace zklock::cli
