// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cerrno>
#include <system_error>

#include <sys/resource.h>

namespace zklock::testing {

/// Limits the descriptors of this process during its lifetime. Throws std::system_error.
///
/// Thread-safety: none. REQUIRES: only one object exists at a time.
class DescriptorLimit {
 public:
  explicit DescriptorLimit(rlim_t most) {
    ::getrlimit(RLIMIT_NOFILE, &before_);
    const rlimit changed{most, before_.rlim_max};
    if (::setrlimit(RLIMIT_NOFILE, &changed) != 0) {
      throw std::system_error(errno, std::generic_category(), "setrlimit");
    }
  }
  ~DescriptorLimit() { ::setrlimit(RLIMIT_NOFILE, &before_); }
  DescriptorLimit(const DescriptorLimit&) = delete;
  DescriptorLimit& operator=(const DescriptorLimit&) = delete;

 private:
  rlimit before_{};
};

}  // namespace zklock::testing
