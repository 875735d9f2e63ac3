// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>

namespace zklock::detail {

/// Returns 64 random bits that identify this process on all hosts; its fork()ed children have other
/// ids. Never 0. Costs an atomic load.
///
/// Thread-safety: any thread may call it.
std::uint64_t process_id() noexcept;

/// Identifies this process for people.
struct ProcessIdentity {
  std::uint64_t id = 0;  ///< process_id()
  std::string host;      ///< by gethostname(); empty if that fails
  std::int64_t pid = 0;
};

/// Returns the identity of this process. Makes system calls, so a frequent caller keeps the result.
///
/// Thread-safety: any thread may call it.
ProcessIdentity process_identity();

}  // namespace zklock::detail
