// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>

#include <pthread.h>

namespace zklock::detail {

/// The name of a thread. Linux limits names to 16 bytes, with the NUL.
using ThreadNameText = std::array<char, 16>;

/// Returns the name of the calling thread; empty if it cannot be read.
inline ThreadNameText name_of_this_thread() noexcept {
  ThreadNameText name{};
  if (::pthread_getname_np(::pthread_self(), name.data(), name.size()) != 0) return {};
  return name;
}

}  // namespace zklock::detail
