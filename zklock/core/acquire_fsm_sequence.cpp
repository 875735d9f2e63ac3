// SPDX-License-Identifier: Apache-2.0
// The part of the machine that is about the parent's sequence counter: at its end, and below a name
// that was made by hand.
#include <algorithm>
#include <iterator>
#include <span>
#include <string>
#include <utility>

#include "zklock/core/acquire_fsm.h"
#include "zklock/core/node_data.h"
#include "zklock/core/proclamation.h"
#include "zklock/core/revocation.h"

namespace zklock::core {

namespace {

constexpr int most_ends = 16;
/// A transaction deletes it again, so no other client ever sees it.
constexpr std::string_view skipped_name = "skipped";

/// Contenders, and what is deleted with them.
bool is_transient(std::string_view child) {
  return parse_contention(child) || child.starts_with(revocation_prefix) ||
         child.starts_with(proclamation_prefix);
}

std::string way_out(std::span<const std::string> children) {
  const bool first_is_count = children.front() == count_node;  // a number of permits can stay
  const std::string& child = children[first_is_count ? 1 : 0];
  return "the sequence counter of the path is exhausted, and the path cannot be recreated while it "
         "has the child \"" +
         printable(child, 64) + "\"; delete that child";
}

}  // namespace

/// The own node has no usable sequence number.
AcquireEffects AcquireFsm::exhausted() {
  if (++ends_ > most_ends) {
    return fail(Errc::sequence_exhausted,
                "the sequence counter is still exhausted after " + std::to_string(most_ends) +
                    " attempts to recreate the path; delete the path when no contender waits");
  }
  AcquireEffects effects = remove_node();
  std::ranges::move(remove_parent(), std::back_inserter(effects));
  return effects;
}

/// A child has the name that the own node was to get.
AcquireEffects AcquireFsm::name_taken() {
  AcquireEffects effects = remove_node();  // at a gate it has one
  create_status_ = Status::node_exists;
  std::ranges::move(drain(), std::back_inserter(effects));
  return effects;
}

/// With the parent the counter starts again; the tokens go on rising.
AcquireEffects AcquireFsm::remove_parent() {
  state_ = AcquireState::removing_parent;
  return {{.kind = Kind::remove_parent}};
}

AcquireEffects AcquireFsm::parent_removed(Status status, std::string_view detail) {
  if (state_ != AcquireState::removing_parent) return {};
  if (giving_up_) return end();
  if (status == Status::ok || status == Status::no_node || status == Status::session_ended) {
    return enqueue();
  }
  const bool has_changed = status == Status::not_empty || status == Status::bad_version;
  return has_changed ? drain() : answer_failed(status, detail);
}

AcquireEffects AcquireFsm::drain() {
  state_ = AcquireState::draining;
  return {{.kind = Kind::list}};
}

AcquireEffects AcquireFsm::drained(const ListedAnswer& answer) {
  if (giving_up_) return end();
  if (answer.status == Status::no_node || answer.status == Status::session_ended) return enqueue();
  if (answer.status != Status::ok) return answer_failed(answer.status, answer.detail);
  if (is_usable(answer.next)) {
    return create_status_ == Status::node_exists ? skip() : enqueue();
  }
  if (answer.children.empty()) return remove_parent();
  if (answer.children.size() == 1 && answer.children.front() == count_node) {
    AcquireEffects effects = remove_parent();
    effects.front().text = count_node;
    return effects;
  }
  if (std::ranges::any_of(answer.children, is_transient)) return policy_.wait ? pause() : end();
  // Only a contender that has a node clears them.
  if (!core::orphans(answer.children).empty()) return enqueue();
  return fail(Errc::sequence_exhausted, way_out(answer.children));
}

AcquireEffects AcquireFsm::skip() {
  state_ = AcquireState::skipping;
  return {{.kind = Kind::skip, .text = std::string(skipped_name)}};
}

AcquireEffects AcquireFsm::number_skipped(Status status, std::string_view detail) {
  if (state_ != AcquireState::skipping) return {};
  if (giving_up_) return end();
  if (status == Status::ok || status == Status::no_node || status == Status::session_ended) {
    return enqueue();
  }
  return answer_failed(status, detail);
}

}  // namespace zklock::core
