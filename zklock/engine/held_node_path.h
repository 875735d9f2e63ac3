// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>
#include <string>
#include <utility>
#include <vector>

#include "zklock/client/port/mutex.h"
#include "zklock/core/lock_path.h"

namespace zklock::detail {

/// The full path of a hold's znode. Its name can change once, at a downgrade.
///
/// | state    | path()                      | event          | next     |
/// |----------|-----------------------------|----------------|----------|
/// | settled  | the path                    | begin_rename() | renaming |
/// | renaming | the path before the         | end_rename()   | settled  |
/// |          | downgrade, perhaps outdated |                |          |
///
/// Thread-safety: all members, from any thread.
class HeldNodePath {
 public:
  using Then = std::function<void()>;

  /// `parent` outlives this object.
  HeldNodePath(const core::LockPath& parent, std::string name)
      : parent_(parent), name_(std::move(name)) {}

  std::string path() const;
  /// Calls `then` once, when the state is settled: before when_settled() returns, or later. It is
  /// called with no lock held. REQUIRES: `then` does not block.
  void when_settled(Then then);

  void begin_rename();
  /// Sets the name. Returns the callbacks that wait for it: the caller must call them with no lock
  /// held.
  [[nodiscard]] std::vector<Then> end_rename(std::string name);

 private:
  const core::LockPath& parent_;
  mutable client::Mutex mutex_;
  std::string name_ ZKLOCK_GUARDED_BY(mutex_);
  bool renaming_ ZKLOCK_GUARDED_BY(mutex_) = false;
  std::vector<Then> waiting_ ZKLOCK_GUARDED_BY(mutex_);
};

}  // namespace zklock::detail
