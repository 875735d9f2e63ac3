// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "zklock/cli/command.h"

namespace zklock::cli {

/// Declares `permits`: shows or changes the shared count of a semaphore.
Action declare_permits(CLI::App& options);

}  // namespace zklock::cli
