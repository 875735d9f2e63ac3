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
  struct Entry {
    std::string_view what;
    std::string_view path;
    std::optional<core::Instant> since = {};  ///< when the hold of the call has ended
    Hook hook = {};
  };
  /// An Entry that is added while this object exists.
  ///
  /// Thread-safety: the constructor and the destructor enter the engine. REQUIRES: the client
  /// outlives this object.
  class Call {
   public:
    /// `since`: when the hold of the call has ended.
    Call(EngineContext& context, std::string_view what, std::string_view path,
         core::Instant since) noexcept;
    ~Call();
    Call(const Call&) = delete;
    Call& operator=(const Call&) = delete;

   private:
    EngineContext& context_;
    Entry entry_;
  };

  void add(Entry& entry) noexcept { calls_.push_back(entry); }
  void remove(Entry& entry) noexcept { calls_.erase(calls_.iterator_to(entry)); }
  /// Returns the call whose hold ended first, and when. Returns std::nullopt if no call runs after
  /// the end of its hold.
  std::optional<std::pair<std::string, core::Instant>> oldest() const;

 private:
  boost::intrusive::list<Entry, boost::intrusive::member_hook<Entry, Hook, &Entry::hook>,
                         boost::intrusive::constant_time_size<false>>
      calls_;
};

}  // namespace zklock::detail
