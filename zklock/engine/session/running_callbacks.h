// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include <boost/intrusive/list.hpp>

#include "zklock/core/session.h"

namespace zklock::detail {

class EngineContext;

/// The user's code that runs although its hold has ended: loss callbacks and leaders' functions.
///
/// Thread-safety: none. REQUIRES: the engine mutex is held.
class RunningCallbacks {
 public:
  /// One call of user code, from the constructor to the destructor. Allocates nothing: it can run
  /// in a loss. `what` and `path` are for people, such as "the leader's function of " and "/a".
  /// REQUIRES: both texts and the client outlive this object.
  ///
  /// Thread-safety: the constructor and the destructor enter the engine. REQUIRES for hold_ended():
  /// the engine mutex is held.
  class Call {
   public:
    /// `since`: when the hold of the call has ended; nothing if it has not.
    Call(EngineContext& core, std::string_view what, std::string_view path,
         std::optional<core::Instant> since = std::nullopt) noexcept;
    ~Call();
    Call(const Call&) = delete;
    Call& operator=(const Call&) = delete;

    /// The hold of the call has ended at `now`. Only the first end counts.
    void hold_ended(core::Instant now) noexcept {
      if (!since_) since_ = now;
    }

   private:
    friend class RunningCallbacks;

    EngineContext& core_;
    const std::string_view what_;
    const std::string_view path_;
    std::optional<core::Instant> since_;
    boost::intrusive::list_member_hook<> hook_;
  };

  /// Returns the call whose hold ended first, and when. Returns std::nullopt if no call runs after
  /// the end of its hold.
  std::optional<std::pair<std::string, core::Instant>> oldest() const;

 private:
  using Hook =
      boost::intrusive::member_hook<Call, boost::intrusive::list_member_hook<>, &Call::hook_>;
  boost::intrusive::list<Call, Hook> calls_;
};

}  // namespace zklock::detail
