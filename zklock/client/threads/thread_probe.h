// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <string>

namespace zklock::client {

/// Returns whether the system provides `count` more threads now. Starts them, ends them, and blocks until
/// the system counts them no more, so that the caller can have them. Another thread of the system
/// can be faster.
///
/// Thread-safety: any thread may call it.
bool can_start_threads(std::size_t count);

/// Returns the text for a thread that the system does not provide, with what to do.
std::string thread_shortage();

}  // namespace zklock::client
