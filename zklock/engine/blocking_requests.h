// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "zklock/client/port/coordinator.h"
#include "zklock/core/lock_path.h"
#include "zklock/deadline.h"
#include "zklock/engine/session/engine_context.h"
#include "zklock/engine/time_limit.h"

namespace zklock::detail {

/// Returns the deadline of `limit`. If `limit` has none, returns ClientOptions::connection_timeout
/// from now.
Deadline round_trip_deadline(EngineContext& context, const TimeLimit& limit);

/// Returns the cause of Error(not_connected) for a call that began at `began`, and had no reply
/// before its deadline.
std::string no_reply_text(EngineContext& context, core::Instant began);

/// Called for each reply when it arrives. It may change the reply.
using OnReply = std::function<void(client::Reply&)>;

/// Sends the requests on the current session and blocks until all replies have arrived. Returns the
/// replies in the order of the requests. Returns std::nullopt if `limit` came first; then requests
/// that have not been sent are never sent. Calls `on_reply` for each reply, even after `limit`.
/// ClientOptions::connection_timeout does not apply. An interruption point of Boost.Thread. If
/// `session` is not 0, a request is sent only on that session, and does not wait for a connection;
/// see client::Request. REQUIRES: no request has a watch; `on_reply` does not block.
///
/// Thread-safety: any thread may call it.
std::optional<std::vector<client::Reply>> round_trip(EngineContext& context, Deadline limit,
                                                     std::vector<client::Operation> operations,
                                                     const OnReply& on_reply = {},
                                                     client::SessionId session = {});

/// The requests of one blocking call, which reads or writes znodes at a lock's path. Its functions
/// return replies, or throw an Error that names `operation`. Its time limit is that of
/// round_trip_deadline().
///
/// Thread-safety: none; each call makes its own.
class BlockingRequests {
 public:
  static constexpr std::chrono::milliseconds kPauseBetweenAttempts{50};

  /// Throws Error(closed | forked). REQUIRES: `context` and `path` outlive this object.
  BlockingRequests(EngineContext& context, const core::LockPath& path, const char* operation,
                   const TimeLimit& limit);

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

  /// Blocks for this time; an interruption point of Boost.Thread.
  static void pause(core::Duration duration = kPauseBetweenAttempts);

 private:
  EngineContext& context_;
  const core::LockPath& path_;
  const char* const operation_;
  const core::Instant began_;
  const Deadline limit_;
};

/// Sends the request again, after a pause, as long as core::is_temporary_failure() is true of its
/// status. Returns the first other reply. Blocks and throws as BlockingRequests::run() does.
/// REQUIRES: the request may be executed more than once.
client::Reply request_until_final(BlockingRequests& query, const client::Operation& operation);

}  // namespace zklock::detail
