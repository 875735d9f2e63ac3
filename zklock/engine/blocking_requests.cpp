// SPDX-License-Identifier: Apache-2.0
#include "zklock/engine/blocking_requests.h"

#include <atomic>
#include <chrono>
#include <cstddef>
#include <memory>
#include <utility>

#include "zklock/core/cause_texts.h"
#include "zklock/core/status.h"
#include "zklock/engine/callback/blocking_call.h"

namespace zklock::detail {

namespace {

/// One round of requests. It ends when all replies have arrived or the time is up.
///
/// Thread-safety: all members, from any thread.
class Round {
 public:
  explicit Round(std::size_t requests) : replies_(requests), missing_(requests) {}

  void arrived(std::size_t i, client::Reply reply) {
    // The coordinator has noticed the time limit first.
    if (reply.status == core::Status::not_connected) return time_is_up();
    replies_[i] = std::move(reply);
    if (--missing_ == 0) end(true);
  }
  void time_is_up() { end(false); }
  /// Blocks until the end of the round, and returns the replies; std::nullopt if the time was up.
  /// An interruption point.
  std::optional<std::vector<client::Reply>> wait() {
    if (!done_.wait()) return std::nullopt;
    return std::move(replies_);
  }

 private:
  void end(bool has_all) {
    if (!over_.exchange(true)) done_.set(has_all);
  }

  BlockingCall<bool> done_;
  /// Each element is written once. The waiting thread reads them only when all are written.
  std::vector<client::Reply> replies_;
  std::atomic<std::size_t> missing_;
  std::atomic<bool> over_{false};
};

/// Cancels the timer and the requests when round_trip() returns or throws.
struct Cleanup {
  EngineContext& context;
  client::TimerId timer;
  std::vector<client::RequestId> requests;
  ~Cleanup() {
    context.scheduler().cancel(timer);
    for (const auto id : requests) context.coordinator().cancel_unsent(id);
  }
};

}  // namespace

Deadline round_trip_deadline(EngineContext& context, const TimeLimit& limit) {
  if (!limit.deadline().is_never()) return limit.deadline();
  return Deadline::after(context.scheduler().now(), context.settings().connection_timeout);
}

std::string no_reply_text(EngineContext& context, core::Instant began) {
  const core::Duration waited = context.scheduler().now() - began;
  const std::string problem = context.coordinator().connection_problem();
  if (!problem.empty()) return core::no_server_answered(waited, problem);
  const auto ms = std::chrono::duration_cast<std::chrono::milliseconds>(waited).count();
  return "no reply within " + std::to_string(ms) + " ms";
}

std::optional<std::vector<client::Reply>> round_trip(EngineContext& context, Deadline limit,
                                                     std::vector<client::Operation> operations,
                                                     const OnReply& on_reply,
                                                     client::SessionId session) {
  if (operations.empty()) return std::vector<client::Reply>{};
  const auto round = std::make_shared<Round>(operations.size());
  Cleanup cleanup{
      context, context.scheduler().at(limit.at(), [round] { round->time_is_up(); }), {}};
  // The coordinator answers not_connected at wanted_since plus the connection timeout: at `limit`.
  const auto wanted_since = limit.at() - context.settings().connection_timeout;
  for (std::size_t i = 0; i < operations.size(); ++i) {
    cleanup.requests.push_back(
        context.coordinator().submit({.operation = std::move(operations[i]),
                                      .session = session,
                                      .fail_if_disconnected = session != client::SessionId{},
                                      .wanted_since = wanted_since},
                                     [round, i, on_reply](client::Reply reply) {
                                       if (on_reply) on_reply(reply);
                                       round->arrived(i, std::move(reply));
                                     }));
  }
  return round->wait();
}

// ---- BlockingRequests ---------------------------------------------------------------------------

BlockingRequests::BlockingRequests(EngineContext& context, const core::LockPath& path,
                                   const char* operation, const TimeLimit& limit)
    : context_(context),
      path_(path),
      operation_(operation),
      began_(context.scheduler().now()),
      limit_(round_trip_deadline(context, limit)) {
  context_.check_usable(operation_, path_.str());
}

std::optional<std::vector<client::Reply>> BlockingRequests::try_run(
    std::vector<client::Operation> operations) {
  return round_trip(context_, limit_, std::move(operations));
}

std::vector<client::Reply> BlockingRequests::run(std::vector<client::Operation> operations) {
  auto replies = try_run(std::move(operations));
  if (!replies) fail_timed_out();
  return std::move(*replies);
}

client::Reply BlockingRequests::run(client::Operation operation) {
  std::vector<client::Operation> operations;
  operations.push_back(std::move(operation));
  return std::move(run(std::move(operations)).front());
}

client::Reply BlockingRequests::run_now(client::SessionId session, client::Operation operation) {
  std::vector<client::Operation> operations;
  operations.push_back(std::move(operation));
  auto replies = round_trip(context_, limit_, std::move(operations), {}, session);
  if (!replies) fail_timed_out();
  return std::move(replies->front());
}

void BlockingRequests::fail_timed_out() const {
  fail(Errc::not_connected, no_reply_text(context_, began_));
}

void BlockingRequests::fail(const client::Reply& reply) const {
  fail(core::error_of(reply.status), core::cause_of(reply.status, reply.detail));
}

void BlockingRequests::fail(Errc code, std::string_view cause) const {
  throw Error(code, operation_, path_.str(), cause);
}

// Not with a timer of the client: a closed client has none.
void BlockingRequests::pause(core::Duration duration) {
  BlockingCall<bool> nothing;
  nothing.wait_until(duration);
}

client::Reply request_until_final(BlockingRequests& query, const client::Operation& operation) {
  for (;;) {
    client::Reply reply = query.run(operation);
    if (!core::is_temporary_failure(reply.status)) return reply;
    BlockingRequests::pause();
  }
}

}  // namespace zklock::detail
