// SPDX-License-Identifier: Apache-2.0
// The shared permit count of a semaphore, in the acquire machine.
//
// The count is read after the list. Contenders ahead become only fewer, so the list shows at least
// as many as there are when the count is read. If they fit into the count, there is room at that
// moment. The znode of the count is watched like a predecessor. No grant is made by an unknown
// count.
#include <utility>

#include "zklock/core/acquire_fsm.h"

namespace zklock::core {

namespace {

constexpr int kMaxCountCreates = 16;

}  // namespace

AcquireEffects AcquireFsm::handle_first_list(const ListedAnswer& answer, bool lease_valid) {
  if (awaited_ != Awaited::count) {
    rare_.write().early_count = CountedAnswer{answer.status, answer.permits.session, {}, 0};
    return {};
  }
  if (auto other_way = check_created()) return *std::move(other_way);
  // If the last of the three requests was answered in the own znode's session, so was the list.
  if (answer.status != Status::ok || answer.permits.session != node_.session()) return list();
  state_ = AcquireState::listing;
  return decide_by(answer, lease_valid);
}

/// Returns nothing if the count is known or not needed, else the effects to go on with.
std::optional<AcquireEffects> AcquireFsm::check_permit_count(const PermitsAnswer& count) {
  if (!present_rule().shares_count()) return std::nullopt;
  if (count.status == Status::no_node) {
    if (++count_creates_in_row_ <= kMaxCountCreates) return create_count();
    return fail(Errc::server_error, "the permit count is repeatedly deleted by another client");
  }
  if (count.status != Status::ok) return handle_failure(count.status, count.detail);
  const auto number = parse_permit_count(count.data);
  if (!number) return fail(Errc::bad_data, bad_permit_count(count.data));
  count_creates_in_row_ = 0;
  policy_.rule.total = *number;
  return std::nullopt;
}

AcquireEffects AcquireFsm::create_count() {
  state_ = AcquireState::creating_count;
  return {effect(Kind::create_count, std::to_string(initial_count_))};
}

AcquireEffects AcquireFsm::handle_count_created(const DoneAnswer& answer) {
  if (node_.is_deleted()) return node_lost(Errc::node_deleted);
  // Another client may have created the count. After "no node" the list shows whether the path was
  // deleted.
  const bool is_there = answer.status == Status::ok || answer.status == Status::node_exists;
  return is_there || answer.status == Status::no_node
             ? list()
             : handle_failure(answer.status, answer.detail);
}

}  // namespace zklock::core
