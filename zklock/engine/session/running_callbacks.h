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

/// Calls of user code that can outlive their hold: loss callbacks and leaders' functions.
///
/// Thread-safety: none. REQUIRES: the engine mutex is held.
class RunningCallbacks {
 public:
  using Hook = boost::intrusive::list_member_hook<
      boost::intrusive::link_mode<boost::intrusive::auto_unlink>>;
  /// One call of user code. Nothing is allocated for it: it can run in a loss. `what` and `path`
  /// are for people, such as "the leader's function of " and "/a". REQUIRES: both outlive this
  /// object.
  struct Call {
    std::string_view what;
    std::string_view path;
    std::optional<core::Instant> since = {};  ///< when the hold of the call has ended
    Hook hook = {};
  };
  /// A Call that is added while this object exists.
  ///
  /// Thread-safety: the constructor and the destructor enter the engine. REQUIRES: the client
  /// outlives this object.
  class ScopedCall {
   public:
    /// `since`: when the hold of the call has ended.
    ScopedCall(EngineContext& context, std::string_view what, std::string_view path,
               core::Instant since) noexcept;
    ~ScopedCall();
    ScopedCall(const ScopedCall&) = delete;
    ScopedCall& operator=(const ScopedCall&) = delete;

   private:
    EngineContext& context_;
    Call call_;
  };

  void add(Call& call) noexcept { calls_.push_back(call); }
  void remove(Call& call) noexcept { calls_.erase(calls_.iterator_to(call)); }
  /// Returns the call whose hold ended first, and when. Returns std::nullopt if no call runs after
  /// the end of its hold.
  std::optional<std::pair<std::string, core::Instant>> oldest() const;

 private:
  boost::intrusive::list<Call, boost::intrusive::member_hook<Call, Hook, &Call::hook>,
                         boost::intrusive::constant_time_size<false>>
      calls_;
};

}  // namespace zklock::detail
