// SPDX-License-Identifier: Apache-2.0
#include "tests/model/simulator/onlooker.h"

#include <charconv>
#include <system_error>
#include <utility>

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
    subscription_ = lock_->add_listener([this](const LockState& now) { told(now); });
  }
}

void Onlooker::told(LockState state) {
  // Those who hold together come and go in any order; and a stranger may say any token.
  const bool alone = !state.holders.empty() && state.holders.front().access == Access::exclusive &&
                     state.holders.front().session_id != 0;
  if (alone || state.holders.empty()) {
    note_seen(alone ? state.holders.front().token : FencingToken{}, 0);
  }
  lock_state_ = std::move(state);
}

void Onlooker::told(ElectionState state) {
  // The node of a stranger may be older than those ahead of it, if its name was made by hand.
  const bool is_stranger = state.leader && state.leader->session_id == 0;
  if (!is_stranger) {
    note_seen(state.leader ? state.leader->token : FencingToken{}, number_in(state.value));
  }
  election_state_ = std::move(state);
}

void Onlooker::note_seen(FencingToken holder, std::int64_t number) {
  scribe_.note({.kind = Event::Kind::seen,
                .hold = number_,
                .resource = resource_of(0, path_),
                .token = holder,
                .number = number});
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
