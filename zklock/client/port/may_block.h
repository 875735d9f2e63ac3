// SPDX-License-Identifier: Apache-2.0
#pragma once

namespace zklock::client {

/// The engine mutex that the calling thread holds; null if it holds none. Used in asserts only.
inline constinit thread_local const void* engine_mutex_held_here = nullptr;

/// Returns whether the calling thread may block, call code of the user, and write to the user's
/// log: not while it holds an engine mutex. For asserts at the places that do one of these.
inline bool may_block_here() noexcept {
  return engine_mutex_held_here == nullptr;
}

}  // namespace zklock::client
