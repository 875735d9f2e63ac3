// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "zklock/cli/command.h"

namespace zklock::cli {

/// Declares `serve`: a web page with all locks below a path, metrics and a health check.
Action declare_serve(CLI::App& options);

}  // namespace zklock::cli
