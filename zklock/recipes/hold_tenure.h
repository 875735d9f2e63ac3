// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>
#include <memory>
#include <optional>
#include <stop_token>
#include <string>

#include "zklock/core/hold_limit.h"
#include "zklock/core/lease_term.h"
#include "zklock/fencing_token.h"
#include "zklock/hold.h"
#include "zklock/lock_event.h"
#include "zklock/recipes/client_core.h"
#include "zklock/recipes/expiry.h"
#include "zklock/recipes/held_node.h"

namespace zklock::recipes {

class Contender;

/// A hold from its grant to its end: what it is worth at any moment, what limits it, and who hears
/// of it.
///
/// Thread-safety: what is asked of it, from any thread; what happens to it, and its construction,
/// within a Section of the engine. Part of its contender.
class HoldTenure {
 public:
  struct Grant {
    FencingToken token;
    std::string node;  ///< its full path at that time
    std::shared_ptr<core::LeaseTerm> lease;
    core::HoldLimit limit = {};
  };
  /// It begins, and tells so.
  HoldTenure(Contender& contender, Grant grant);

  FencingToken token() const noexcept { return grant_.token; }
  /// In a fork()ed child, where nobody may hold a mutex: as it was granted.
  std::string node() const { return core_.forked() ? grant_.node : node_.path(); }
  HeldNode& held_node() const noexcept { return node_; }
  /// By the user, who may check it in a transaction.
  std::string node_for_user() const {
    is_node_asked_for_.store(true);
    return node();
  }
  bool is_node_asked_for() const noexcept { return is_node_asked_for_.load(); }
  SessionId session() const noexcept { return grant_.lease->session(); }

  /// By the clock; whoever asks too late ends it.
  bool valid() const noexcept;
  bool lease_valid() const noexcept;
  /// valid(), and neither lost for another reason nor released.
  bool holds() const noexcept { return !over_.load() && valid(); }
  HoldState state() const noexcept;
  /// LeaseClock::time_point::min() when lost.
  LeaseClock::time_point valid_until() const noexcept;
  std::stop_token lost() const noexcept;
  std::stop_source loss_source() const noexcept { return loss_; }
  std::stop_token release_requested() const noexcept { return request_.get_token(); }

  bool renew(std::optional<core::Duration> length) { return expiry_.renew(length); }
  /// Tells, once, when the end is near.
  void look_at_the_clock() noexcept;
  void suspended() noexcept;
  void resumed() noexcept;
  /// The token of this source is to be stopped.
  std::stop_source asked_to_release() noexcept;
  /// From now on state() is lost; to be called once. The stop token is stopped by whoever has
  /// loss_source().
  void end(LockEvent::Kind why) noexcept;

  /// Transactions that check its node, from before they are sent until they are answered. Of
  /// commit_begins(), then holds(), and end(), then commits_under_way(), on two threads, one sees the
  /// other: hence the sequentially consistent order of all four.
  void commit_begins() const noexcept { commits_.fetch_add(1); }
  void commit_ended() const noexcept { commits_.fetch_sub(1); }
  bool commits_under_way() const noexcept { return commits_.load() > 0; }

 private:
  const Contender& contender_;
  ClientCore& core_;
  const Grant grant_;
  mutable Expiry expiry_;
  mutable HeldNode node_;
  std::atomic<bool> over_{false};
  mutable std::atomic<int> commits_{0};
  mutable std::atomic<bool> is_node_asked_for_{false};
  const std::stop_source loss_;
  const std::stop_source request_;
  bool told_suspended_ = false;  ///< guarded by the engine's mutex
};

}  // namespace zklock::recipes
