// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>
#include <set>
#include <string>
#include <utility>

#include "zklock/client/port/mutex.h"

namespace zklock::detail {

/// The present connection string of a client, for the texts of errors.
///
/// Thread-safety: any thread may use any member.
class HostsText {
 public:
  explicit HostsText(std::string hosts) : all_{std::move(hosts)}, present_(&*all_.begin()) {}

  /// `apply`: lets the client use the new servers. If it throws, the text stays.
  template <typename Apply>
  void replace(const std::string& hosts, Apply&& apply) ZKLOCK_EXCLUDES(mutex_) {
    const client::MutexLock guard(mutex_);
    const auto text = all_.insert(hosts).first;
    apply();
    present_ = &*text;
  }
  /// Acquires no mutex: in a fork()ed child it could be locked.
  const std::string& get() const noexcept { return *present_.load(); }

 private:
  client::Mutex mutex_;
  std::set<std::string> all_
      ZKLOCK_GUARDED_BY(mutex_);             ///< each string once; never becomes smaller
  std::atomic<const std::string*> present_;  ///< points into all_
};

}  // namespace zklock::detail
