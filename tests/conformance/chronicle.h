// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <cstddef>
#include <mutex>
#include <string>
#include <utility>
#include <vector>

#include "conformance/lock_test.h"

namespace zklock::testing {

// The entries that any thread adds, in the order of their arrival. Thread-safe.
template <class Entry>
class Chronicle {
 public:
  void add(Entry entry) {
    const std::lock_guard guard(mutex_);
    entries_.push_back(std::move(entry));
  }
  std::vector<Entry> all() const {
    const std::lock_guard guard(mutex_);
    return entries_;
  }
  std::size_t size() const { return all().size(); }
  std::size_t count(const Entry& entry) const {
    const auto entries = all();
    return static_cast<std::size_t>(std::count(entries.begin(), entries.end(), entry));
  }
  // Waits until there are at least `count` entries.
  bool reaches(std::size_t count) const {
    return eventually([&] { return size() >= count; }, kTestTimeout);
  }
  // Waits until the entry has been added.
  bool has(const Entry& entry) const {
    return eventually([&] { return count(entry) > 0; }, kTestTimeout);
  }

 private:
  mutable std::mutex mutex_;
  std::vector<Entry> entries_;  // guarded by mutex_
};

}  // namespace zklock::testing
