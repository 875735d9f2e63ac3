// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <sys/resource.h>

namespace zklock::testing {

/// Limits the descriptors of this process during its lifetime.
///
/// Thread-safety: none. REQUIRES: only one object exists at a time.
class DescriptorLimit {
 public:
  explicit DescriptorLimit(rlim_t most) {
    ::getrlimit(RLIMIT_NOFILE, &before_);
    const rlimit changed{most, before_.rlim_max};
    ::setrlimit(RLIMIT_NOFILE, &changed);
  }
  ~DescriptorLimit() { ::setrlimit(RLIMIT_NOFILE, &before_); }
  DescriptorLimit(const DescriptorLimit&) = delete;
  DescriptorLimit& operator=(const DescriptorLimit&) = delete;

 private:
  rlimit before_{};
};

}  // namespace zklock::testing
