// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>
#include <set>
#include <string>
#include <utility>

namespace zklock::detail {

/// The present connection string of a client, for the texts of errors.
///
/// Thread-safety: any thread may call get(). REQUIRES for set(): the engine mutex is held.
class HostsText {
 public:
  explicit HostsText(std::string hosts) : all_{std::move(hosts)}, present_(&*all_.begin()) {}

  void set(const std::string& hosts) { present_ = &*all_.insert(hosts).first; }
  /// Acquires no mutex: in a fork()ed child it could be locked.
  const std::string& get() const noexcept { return *present_.load(); }

 private:
  std::set<std::string> all_;                ///< each string once; never becomes smaller
  std::atomic<const std::string*> present_;  ///< points into all_
};

}  // namespace zklock::detail
