// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <string_view>
#include <vector>

#include "zklock/client/port/coordinator.h"
#include "zklock/deadline.h"
#include "zklock/engine/path_lock.h"

namespace zklock::detail {

/// The requests of one blocking call, which reads or writes znodes at a lock's path. Its functions
/// return replies, or throw an Error that names `operation`. Its time limit is that of
/// round_trip_deadline().
///
/// Thread-safety: none; each call makes its own.
class BlockingRequests {
 public:
  /// Throws Error(closed | forked).
  BlockingRequests(PathLock& path_lock, const char* operation, const TimeLimit& limit);

  /// Sends the requests and blocks until all replies have arrived. Returns them in the order of the
  /// requests, or nullopt at the time limit. An interruption point of Boost.Thread.
  std::optional<std::vector<client::Reply>> try_run(std::vector<client::Operation> operations);
  /// Do what try_run() does, but throw Error(not_connected) at the time limit.
  std::vector<client::Reply> run(std::vector<client::Operation> operations);
  client::Reply run(client::Operation operation);
  /// Does what run() does, but sends the request now on `session`, or never: the reply is then
  /// session_ended or not_sent.
  client::Reply run_now(client::SessionId session, client::Operation operation);
  /// Throws Error(not_connected): the time limit has come.
  [[noreturn]] void fail_timed_out() const;
  /// Throw Error: the error in the reply, or `code`.
  [[noreturn]] void fail(const client::Reply& reply) const;
  [[noreturn]] void fail(Errc code, std::string_view cause = {}) const;

  /// Blocks for a short time; an interruption point of Boost.Thread.
  static void pause();

 private:
  PathLock& path_lock_;
  const char* const operation_;
  const core::Instant began_;
  const Deadline limit_;
};

}  // namespace zklock::detail
