// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <string_view>
#include <vector>

#include "zklock/client/coordinator.h"
#include "zklock/deadline.h"
#include "zklock/recipes/lock_engine.h"

namespace zklock::recipes {

/// What blocking calls that ask the servers about one lock have in common: who asks gets answers,
/// or an Error in the name of `operation`. Ends at `deadline`, or when the servers could not be
/// reached for ClientOptions::connection_timeout; one that has passed means a single attempt.
///
/// Thread-safety: none; for one call.
class Question {
 public:
  /// Throws Error(closed | forked).
  Question(LockEngine& engine, const char* operation, Deadline deadline);

  /// The replies in the order of the requests; nothing when the time was up. An interruption point.
  std::optional<std::vector<client::Reply>> try_ask(std::vector<client::Operation> operations);
  /// Throws Error(not_connected) when the time was up.
  std::vector<client::Reply> ask(std::vector<client::Operation> operations);
  client::Reply ask(client::Operation operation);
  [[noreturn]] void fail_in_time() const;
  [[noreturn]] void fail(const client::Reply& reply) const;
  [[noreturn]] void fail(Errc code, std::string_view cause = {}) const;

  /// A little; an interruption point.
  static void pause();

 private:
  LockEngine& engine_;
  const char* const operation_;
  const Deadline limit_;
};

}  // namespace zklock::recipes
