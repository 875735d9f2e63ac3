// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include <boost/intrusive/list.hpp>

#include "zklock/client/port/mutex.h"
#include "zklock/core/session.h"

namespace zklock::detail {

/// The user's code that runs although its hold has ended: loss callbacks and leaders' functions.
///
/// Thread-safety: all members, from any thread.
class RunningCallbacks {
 public:
  /// One call of user code, from the constructor to the destructor. Allocates nothing: it can run
  /// in a loss. `what` and `path` are for people, such as "the leader's function of " and "/a".
  /// REQUIRES: both texts outlive this object, and the RunningCallbacks do, too.
  ///
  /// Thread-safety: any thread may call hold_ended().
  class Call {
   public:
    Call(RunningCallbacks& all, std::string_view what, std::string_view path) noexcept;
    ~Call();
    Call(const Call&) = delete;
    Call& operator=(const Call&) = delete;
    /// The hold of the call has ended at `now`. Only the first end counts.
    void hold_ended(core::Instant now) noexcept;

   private:
    friend class RunningCallbacks;
    RunningCallbacks& all_;
    const std::string_view what_;
    const std::string_view path_;
    std::optional<core::Instant> since_;         ///< guarded by all_.mutex_
    boost::intrusive::list_member_hook<> hook_;  ///< guarded by all_.mutex_
  };

  RunningCallbacks() = default;
  RunningCallbacks(const RunningCallbacks&) = delete;
  RunningCallbacks& operator=(const RunningCallbacks&) = delete;

  /// Returns the call whose hold ended first, and when. Returns nothing if no call runs after the
  /// end of its hold.
  std::optional<std::pair<std::string, core::Instant>> oldest() const;

 private:
  using Hook =
      boost::intrusive::member_hook<Call, boost::intrusive::list_member_hook<>, &Call::hook_>;

  mutable client::Mutex mutex_;
  boost::intrusive::list<Call, Hook> calls_ ZKLOCK_GUARDED_BY(mutex_);
};

}  // namespace zklock::detail
