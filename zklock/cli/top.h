// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "zklock/cli/command.h"

namespace zklock::cli {

/// Declares `top`: the locks below a path on the whole terminal, refreshed until `q`. See TopView.
Action declare_top(CLI::App& options);

}  // namespace zklock::cli
