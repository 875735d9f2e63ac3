// SPDX-License-Identifier: Apache-2.0
#include "zklock/engine/blocking_requests.h"

#include <chrono>
#include <utility>

#include "zklock/engine/callback/blocking_call.h"
#include "zklock/engine/round_trip.h"

namespace zklock::detail {

namespace {

constexpr std::chrono::milliseconds kPauseBetweenAttempts{50};

}  // namespace

BlockingRequests::BlockingRequests(PathLock& path_lock, const char* operation,
                                   const TimeLimit& limit)
    : path_lock_(path_lock),
      operation_(operation),
      began_(path_lock.core().scheduler().now()),
      limit_(round_trip_deadline(path_lock.core(), limit)) {
  path_lock_.core().check_usable(operation_, path_lock_.path().str());
}

std::optional<std::vector<client::Reply>> BlockingRequests::try_run(
    std::vector<client::Operation> operations) {
  return round_trip(path_lock_.core(), limit_, std::move(operations));
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
  auto replies = round_trip(path_lock_.core(), limit_, std::move(operations), {}, session);
  if (!replies) fail_timed_out();
  return std::move(replies->front());
}

void BlockingRequests::fail_timed_out() const {
  fail(Errc::not_connected, no_reply_text(path_lock_.core(), began_));
}

void BlockingRequests::fail(const client::Reply& reply) const {
  fail(core::error_of(reply.status), core::cause_of(reply.status, reply.detail));
}

void BlockingRequests::fail(Errc code, std::string_view cause) const {
  throw Error(code, operation_, path_lock_.path().str(), cause);
}

// Not with a timer of the client: a closed client has none.
void BlockingRequests::pause() {
  BlockingCall<bool> nothing;
  nothing.wait_until(kPauseBetweenAttempts);
}

}  // namespace zklock::detail
