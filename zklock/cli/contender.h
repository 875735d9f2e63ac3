// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <functional>
#include <memory>
#include <optional>
#include <stop_token>
#include <string>

#include "zklock/acquire_options.h"
#include "zklock/awaitable.h"
#include "zklock/client.h"

namespace zklock::cli {

/// Which lock a command acquires.
///
/// | choice           | class                                    |
/// |------------------|------------------------------------------|
/// | none             | Mutex                                    |
/// | shared           | SharedMutex, for reading                 |
/// | permits, of      | Semaphore with that count                |
/// | permits, no `of` | Semaphore with the count on the servers  |
/// | weight           | PriorityMutex                            |
struct LockChoice {
  bool shared = false;
  std::optional<int> permits;
  std::optional<int> of;
  std::optional<int> weight;
  std::optional<std::chrono::milliseconds> max_hold;
  std::chrono::milliseconds lock_delay{0};
  std::string note;
};

/// Acquires one lock; the handler runs on a thread of the client. The object owns the lock.
using AcquireFunction = std::function<void(Deadline, std::stop_token, AcquireHandler)>;

/// Makes the lock object. Throws: Error.
[[nodiscard]] AcquireFunction make_contender(Client& client, const std::string& path,
                                             const LockChoice& choice);

/// Returns the name of the kind: "mutex", "shared", "permits" or "priority".
[[nodiscard]] const char* kind_of(const LockChoice& choice) noexcept;

}  // namespace zklock::cli
