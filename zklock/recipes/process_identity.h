// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>
#include <cstdint>
#include <string>

namespace zklock::recipes {

namespace detail {
inline constinit std::atomic<std::uint32_t> forks{0};  ///< counted in the children
}

/// 64 random bits that tell this process from every other, on any host, also from its fork()ed
/// children. Never 0. Costs an atomic load.
///
/// Thread-safety: any thread.
std::uint64_t process_id() noexcept;

/// How many fork()s lie between this process and the one that loaded the library. What was made
/// under another generation belongs to a parent process: its threads do not exist here, and its
/// locks may be held by them for ever. Costs an atomic load.
///
/// Children made by vfork() or a bare clone() are not noticed; they may only exec or exit anyway.
///
/// Thread-safety: any thread.
inline std::uint32_t fork_generation() noexcept {
  return detail::forks.load(std::memory_order_relaxed);
}

/// Who this process is, for people to read.
struct ProcessIdentity {
  std::uint64_t id = 0;  ///< process_id()
  std::string host;      ///< as gethostname() tells it; empty when it does not
  std::int64_t pid = 0;
};

/// Asks the system: to be kept by whoever needs it often.
///
/// Thread-safety: any thread.
ProcessIdentity process_identity();

}  // namespace zklock::recipes
