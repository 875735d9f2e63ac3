// SPDX-License-Identifier: Apache-2.0
#include "zklock/recipes/question.h"

#include <chrono>
#include <utility>

#include "zklock/recipes/blocking_call.h"
#include "zklock/recipes/round_trip.h"

namespace zklock::recipes {

namespace {

using core::Status;

constexpr std::chrono::milliseconds pause_between_turns{50};

}  // namespace

Question::Question(LockEngine& engine, const char* operation, Deadline deadline)
    : engine_(engine), operation_(operation), limit_(for_one_round(engine.core(), deadline)) {
  engine_.core().check_usable(operation_, engine_.path().str());
}

std::optional<std::vector<client::Reply>> Question::try_ask(
    std::vector<client::Operation> operations) {
  return round_trip(engine_.core(), limit_, std::move(operations));
}

std::vector<client::Reply> Question::ask(std::vector<client::Operation> operations) {
  auto replies = try_ask(std::move(operations));
  if (!replies) fail_in_time();
  return std::move(*replies);
}

client::Reply Question::ask(client::Operation operation) {
  std::vector<client::Operation> operations;
  operations.push_back(std::move(operation));
  return std::move(ask(std::move(operations)).front());
}

void Question::fail_in_time() const {
  const std::string trouble = engine_.core().coordinator().trouble();
  fail(Errc::not_connected,
       trouble.empty() ? "no answer in time" : "no answer in time (" + trouble + ")");
}

void Question::fail(const client::Reply& reply) const {
  fail(core::error_of(reply.status),
       reply.detail.empty() ? to_string(reply.status) : std::string_view(reply.detail));
}

void Question::fail(Errc code, std::string_view cause) const {
  throw Error(code, operation_, engine_.path().str(), cause);
}

// Not with a timer of the client: a closed client has none.
void Question::pause() {
  BlockingCall<bool> nothing;
  nothing.wait_for(pause_between_turns);
}

}  // namespace zklock::recipes
