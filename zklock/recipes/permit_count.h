// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <memory>

#include "zklock/deadline.h"
#include "zklock/recipes/lock_engine.h"

namespace zklock::recipes {

/// The number of a semaphore's permits where that is shared: reads and changes it; see
/// core/permit_count.h. These calls block, at most until `deadline` or for
/// ClientOptions::connection_timeout, whichever comes first, and throw Error. `initial` is the
/// number for who comes first.

std::int32_t read_permit_count(const std::shared_ptr<LockEngine>& engine, std::int32_t initial,
                               Deadline deadline);

/// Puts it there if nobody has.
void set_permit_count(const std::shared_ptr<LockEngine>& engine, std::int32_t number,
                      Deadline deadline);

/// Returns the new number. Of changes at the same time none gets lost.
std::int32_t add_to_permit_count(const std::shared_ptr<LockEngine>& engine, std::int32_t change,
                                 std::int32_t initial, Deadline deadline);

}  // namespace zklock::recipes
