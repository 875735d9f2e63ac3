// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "zklock/cli/command.h"

namespace zklock::cli {

/// Declares the options of `zklock elect`; see Command::declare.
[[nodiscard]] Action declare_elect(CLI::App& options);

}  // namespace zklock::cli
