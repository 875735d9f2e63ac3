// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>
#include <string>

#include "zklock/engine/lock_node.h"
#include "zklock/engine/lock_node_observer.h"
#include "zklock/error.h"

namespace zklock::detail {

/// A contender, as its cohort sees it. REQUIRES: path_mutex is held.
class CohortMember : public LockNodeObserver {
 public:
  /// Returns whether the contender waits for the lock. False: it is a single attempt.
  virtual bool waits() const noexcept ZKLOCK_REQUIRES(path_mutex) = 0;
  /// Returns whether a listener receives the events of the contender.
  virtual bool has_listener() const noexcept ZKLOCK_REQUIRES(path_mutex) = 0;
  /// Sets the lock node that the contender is in, or behind.
  virtual void set_lock_node(std::shared_ptr<LockNode> lock_node) noexcept
      ZKLOCK_REQUIRES(path_mutex) = 0;
  /// Ends the contender and all its calls with this error: the shared lock node has failed.
  virtual void on_cohort_failed(Errc error, const std::string& cause)
      ZKLOCK_REQUIRES(path_mutex) = 0;

 protected:
  ~CohortMember() = default;
};

}  // namespace zklock::detail
