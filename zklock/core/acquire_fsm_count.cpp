// SPDX-License-Identifier: Apache-2.0
// The part of the machine that is about a shared number of permits.
#include <string>
#include <utility>

#include "zklock/core/acquire_fsm.h"

namespace zklock::core {

namespace {

constexpr int most_seeds = 16;

}  // namespace

AcquireEffects AcquireFsm::listed_with_create(const ListedAnswer& answer, bool lease_valid) {
  if (!create_answered_) {
    doubts_.write().early_count = CountedAnswer{answer.status, answer.permits.session, {}, 0};
    return {};
  }
  if (auto elsewhere = not_queued()) return *std::move(elsewhere);
  // What was asked last is of the session of the node; so is what was asked in between.
  if (answer.status != Status::ok || answer.permits.session != session_) return list();
  state_ = AcquireState::listing;
  return decide_by(answer, lease_valid);
}

/// Nothing when the number is known, or it needs none.
std::optional<AcquireEffects> AcquireFsm::count_unknown(const PermitsAnswer& count) {
  if (!present_rule().shares_count()) return std::nullopt;
  if (count.status == Status::no_node) {
    if (++seeds_ <= most_seeds) return seed_count();
    return fail(Errc::server_error, "somebody keeps deleting the number of permits");
  }
  if (count.status == Status::no_auth) {
    return fail(Errc::no_auth, "the number of permits may not be read");
  }
  if (count.status != Status::ok) return answer_failed(count.status, count.detail);
  const auto number = parse_permit_count(count.data);
  if (!number) return fail(Errc::bad_data, bad_permit_count(count.data));
  seeds_ = 0;
  policy_.rule.all = *number;
  return std::nullopt;
}

AcquireEffects AcquireFsm::seed_count() {
  state_ = AcquireState::seeding;
  return {effect(Kind::seed_count, std::to_string(seed_))};
}

AcquireEffects AcquireFsm::count_seeded(Status status, std::string_view detail) {
  if (state_ != AcquireState::seeding) return {};
  if (own_deleted_) return node_lost(Errc::node_deleted);
  // Whoever has put it there; and of a path that is gone the list will tell.
  const bool is_there = status == Status::ok || status == Status::node_exists;
  return is_there || status == Status::no_node ? list() : answer_failed(status, detail);
}

}  // namespace zklock::core
