// SPDX-License-Identifier: Apache-2.0
#include "tests/model/simulator/observer_model.h"

#include <charconv>
#include <system_error>
#include <utility>

namespace zklock::simulator {

namespace {

/// Returns 0 if there is no value, and -1 if it is not a value of the simulation.
std::int64_t number_in(const std::optional<std::string>& value) {
  if (!value) return 0;
  std::int64_t number = 0;
  const char* const all = value->data() + value->size();
  const auto [end, error] = std::from_chars(value->data(), all, number);
  return error == std::errc() && end == all && number > 0 ? number : -1;
}

}  // namespace

ObserverModel::ObserverModel(HistoryWriter& history_writer, Client& client, const ObjectPlan& plan,
                             std::uint32_t number)
    : history_writer_(history_writer), path_(plan.path), number_(number) {
  if (plan.kind == LockClass::election_observer) {
    election_.emplace(client, path_of(path_));
    subscription_ = election_->add_listener([this](const ElectionState& now) { received(now); });
  } else {
    lock_.emplace(client, path_of(path_));
    subscription_ = lock_->add_listener([this](const LockState& now) { received(now); });
  }
}

void ObserverModel::received(LockState state) {
  // Shared holds begin and end in any order. The token of another program's znode can be older than
  // earlier tokens, because its name was made by hand. In both cases no client of the simulation
  // holds alone.
  const bool alone = !state.holders.empty() && state.holders.front().access == Access::exclusive &&
                     state.holders.front().session_id != 0;
  note_seen(alone ? state.holders.front().token : FencingToken{}, 0);
  lock_state_ = std::move(state);
}

void ObserverModel::received(ElectionState state) {
  const bool is_stranger = state.leader && state.leader->session_id == 0;
  const bool leads = state.leader && !is_stranger;
  note_seen(leads ? state.leader->token : FencingToken{}, is_stranger ? 0 : number_in(state.value));
  election_state_ = std::move(state);
}

void ObserverModel::note_seen(FencingToken holder, std::int64_t number) {
  history_writer_.note({.kind = Event::Kind::seen,
                        .hold = number_,
                        .resource = resource_of(0, path_),
                        .token = holder,
                        .number = number});
}

bool ObserverModel::sees_no_holder() const {
  if (election_state_) return !election_state_->leader && !election_state_->value;
  return lock_state_ && lock_state_->is_free();
}

bool ObserverModel::sees(FencingToken leader, std::int64_t said) const {
  return election_state_ && election_state_->leader &&
         election_state_->leader->token.zxid == leader.zxid &&
         number_in(election_state_->value) == said;
}

}  // namespace zklock::simulator
