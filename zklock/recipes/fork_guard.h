// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>

namespace zklock::recipes {

/// Keeps `object` until the process ends. In a fork()ed child, what belongs to the parent must not
/// even be destroyed: its threads are not there to be joined, and its locks may be held for ever.
///
/// Thread-safety: any thread.
void keep_for_ever(std::shared_ptr<const void> object) noexcept;

}  // namespace zklock::recipes
