// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>

namespace zklock::detail {

/// Keeps `object` until the process ends. In a fork()ed child, objects of the parent must not be
/// destroyed. Their threads cannot be joined there, and their mutexes can stay locked for ever.
///
/// Thread-safety: any thread may call it.
void keep_for_ever(std::shared_ptr<const void> object) noexcept;

}  // namespace zklock::detail
