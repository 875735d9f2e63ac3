// SPDX-License-Identifier: Apache-2.0
#include "zklock/core/hold_marker.h"

#include <charconv>
#include <system_error>

namespace zklock::core {

namespace {

constexpr std::string_view kHoldMarkerPrefix = "held-";

}  // namespace

std::string HoldMarker::name() const {
  const std::string prefix = std::string(kHoldMarkerPrefix) + std::to_string(since_ms) + "-";
  return ZnodeName::make(prefix, owner_sequence).text;
}

std::optional<HoldMarker> HoldMarker::parse(std::string_view name) {
  if (!name.starts_with(kHoldMarkerPrefix)) return std::nullopt;
  const char* const end = name.data() + name.size();
  HoldMarker marker;
  const auto time = std::from_chars(name.data() + kHoldMarkerPrefix.size(), end, marker.since_ms);
  if (time.ec != std::errc{} || time.ptr == end) return std::nullopt;
  const auto number = std::from_chars(time.ptr + 1, end, marker.owner_sequence.value);
  const bool are_numbers =
      number.ec == std::errc{} && marker.since_ms >= 0 && marker.owner_sequence.value >= 0;
  // The comparison refuses every other form of the numbers.
  if (!are_numbers || marker.name() != name) return std::nullopt;
  return marker;
}

bool HoldMarkerState::on_tick(Duration held_for, Duration timeout) noexcept {
  if (state_ != State::none || held_for < hold_marker_age(timeout)) return false;
  state_ = State::sending;
  return true;
}

void HoldMarkerState::on_created(Status status) noexcept {
  if (state_ != State::sending) return;  // the release has come before the reply
  switch (sort_of(status)) {
    case StatusSort::done: state_ = State::present; return;
    case StatusSort::outcome_unknown:
    case StatusSort::session:
    case StatusSort::client_ended: state_ = State::possible; return;
    case StatusSort::retry_later:
    case StatusSort::unsent: state_ = State::none; return;
    case StatusSort::tree_conflict:
      state_ = status == Status::node_exists ? State::present : State::refused;
      return;
    case StatusSort::refused:
      state_ = status == Status::not_connected ? State::none : State::refused;
      return;
  }
}

HoldMarkerState::Removal HoldMarkerState::on_release() noexcept {
  const Removal how = removal();
  state_ = State::ended;
  return how;
}

HoldMarkerState::Removal HoldMarkerState::removal() const noexcept {
  switch (state_) {
    case State::none:
    case State::refused:
    case State::ended: return Removal::none;
    case State::sending:
    case State::possible: return Removal::after_node;
    case State::present: return Removal::with_node;
  }
  return Removal::none;
}

}  // namespace zklock::core
