// SPDX-License-Identifier: Apache-2.0
#include "tests/model/simulator/onlooker.h"

#include <charconv>
#include <system_error>
#include <utility>

#include "zklock/core/proclamation.h"

namespace zklock::simulator {

namespace {

/// 0: nothing; -1: nothing that a leader here says.
std::int64_t number_in(const std::optional<std::string>& value) {
  if (!value) return 0;
  std::int64_t number = 0;
  const char* const all = value->data() + value->size();
  const auto [end, error] = std::from_chars(value->data(), all, number);
  return error == std::errc() && end == all && number > 0 ? number : -1;
}

}  // namespace

Onlooker::Onlooker(Scribe& scribe, Client& client, const ObjectPlan& plan, std::uint32_t number)
    : scribe_(scribe), path_(plan.path), number_(number) {
  if (plan.kind == LockClass::election_observer) {
    election_.emplace(client, path_of(path_));
    subscription_ = election_->add_listener([this](const ElectionState& now) { told(now); });
  } else {
    lock_.emplace(client, path_of(path_));
    subscription_ = lock_->add_listener([this](const LockState& now) { lock_state_ = now; });
  }
}

void Onlooker::told(ElectionState state) {
  // What a leader has said may be gone when somebody has deleted its node.
  const bool by_hand =
      state.leader &&
      scribe_.is_taken_name(
          0, path_of(path_) + "/" + core::proclamation_node({state.leader->sequence}));
  scribe_.note({.kind = Event::Kind::seen,
                .flag = by_hand,
                .hold = number_,
                .resource = resource_of(0, path_),
                .token = state.leader ? state.leader->token : FencingToken{},
                .number = number_in(state.value)});
  election_state_ = std::move(state);
}

bool Onlooker::sees_nobody() const {
  if (election_state_) return !election_state_->leader && !election_state_->value;
  return lock_state_ && lock_state_->is_free();
}

bool Onlooker::sees(FencingToken leader, std::int64_t said) const {
  return election_state_ && election_state_->leader &&
         election_state_->leader->token.zxid == leader.zxid &&
         number_in(election_state_->value) == said;
}

}  // namespace zklock::simulator
