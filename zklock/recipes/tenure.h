// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>
#include <memory>
#include <stop_token>
#include <string>

#include "zklock/core/lease_term.h"
#include "zklock/fencing_token.h"
#include "zklock/hold.h"
#include "zklock/recipes/client_core.h"

namespace zklock::recipes {

/// A hold from its grant to its end: what it is worth at any moment, and what accompanies it.
///
/// Thread-safety: all members, from any thread.
class Tenure {
 public:
  struct Grant {
    FencingToken token;
    std::string node;  ///< its full path
    std::shared_ptr<core::LeaseTerm> lease;
  };
  /// `core` must outlive it.
  Tenure(ClientCore& core, Grant grant) : core_(core), grant_(std::move(grant)) {}

  FencingToken token() const noexcept { return grant_.token; }
  const std::string& node() const noexcept { return grant_.node; }
  bool is_of(const std::shared_ptr<core::LeaseTerm>& lease) const noexcept {
    return lease == grant_.lease;
  }

  /// By the clock; whoever asks too late ends it.
  bool valid() const noexcept;
  HoldState state() const noexcept;
  /// LeaseClock::time_point::min() when lost.
  LeaseClock::time_point valid_until() const noexcept;
  std::stop_token lost() const noexcept;

  /// From now on state() is lost. The stop token is stopped by whoever has loss_source().
  void end() noexcept { over_.store(true, std::memory_order_release); }
  std::stop_source loss_source() const noexcept { return loss_; }

 private:
  ClientCore& core_;
  const Grant grant_;
  std::atomic<bool> over_{false};
  const std::stop_source loss_;
};

}  // namespace zklock::recipes
