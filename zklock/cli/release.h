// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "zklock/cli/command.h"

namespace zklock::cli {

/// Declares `release`: requests a release, forces it, or deletes the znode of a contender.
Action declare_release(CLI::App& options);

}  // namespace zklock::cli
