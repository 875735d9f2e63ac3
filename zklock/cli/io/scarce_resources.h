// SPDX-License-Identifier: Apache-2.0
#pragma once

namespace zklock::cli {

/// Opens as many file descriptors as a command needs, and closes them. So a command does not fail
/// halfway. REQUIRES: the standard error output is open. Throws: Failure with ExitCode::kSystem.
void check_descriptors();

/// Starts as many threads as a client needs, and joins them. A client keeps the threads that
/// deliver a grant. A command that waits needs two others only for a new session, and waits for
/// them. Throws: Failure with ExitCode::kSystem.
void check_threads();

}  // namespace zklock::cli
