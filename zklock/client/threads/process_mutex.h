// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

#include "zklock/client/port/mutex.h"

namespace zklock::client {

/// Names a mutex that outlives every client of the process. Lock order: as declared.
enum class ProcessMutex : std::uint8_t {
  handles,  ///< held while a C client handle is opened
  log,      ///< guards the table of LogBridge
};

/// Returns that mutex, which is never destroyed. A child of fork() finds each one unlocked, and can
/// make clients of its own.
Mutex& process_mutex(ProcessMutex which) noexcept;

}  // namespace zklock::client
