// SPDX-License-Identifier: Apache-2.0
// Members of Contender that are used from the loss of its hold to the delete of its znode.
#include <chrono>
#include <string>
#include <utility>

#include "zklock/core/cause_texts.h"
#include "zklock/engine/contender.h"

namespace zklock::detail {

using core::Ownership;

namespace {

HoldEnd end_by(LossReason why) {
  switch (why) {
    case LossReason::max_hold: return HoldEnd::expired;
    case LossReason::closed: return HoldEnd::closed;
    case LossReason::lease_expired:
    case LossReason::session_expired:
    case LossReason::node_deleted:
    case LossReason::forced: break;
  }
  return HoldEnd::lost;
}

/// Returns whether the znode may exist, and its session is not ending.
bool leaves_node(LossReason why) {
  return why == LossReason::lease_expired || why == LossReason::max_hold ||
         why == LossReason::forced;
}

/// After this time without a watch, the znode may belong to another contender.
constexpr std::chrono::seconds kLongestUnwatched{1};

}  // namespace

// An earlier query may have recorded another reason, which the hold reports. But `why` says what
// has become of the znode.
void Contender::lose(LossReason why) noexcept {
  path_->assert_held();
  if (!ownership_.lose()) return;
  const auto self = shared_from_this();
  const LossReason reason = record_->lose(why);
  const core::Instant now = context().scheduler().now();
  count_end(end_by(reason), now);
  if (metrics_ != nullptr) metrics_->add_loss(reason);
  node_->end_watches();
  LossNotification::DeleteNode delete_node;
  if (leaves_node(why)) {
    delete_node = [self, lost_at = context().scheduler().now()](BackgroundWork::Id work) {
      self->delete_lost_node(work, lost_at);
    };
  }
  std::string line;
  if (why != LossReason::closed && context().logs(LogLevel::warning)) {
    line = reporter_.line(
        "lost: " + std::string(core::clause_of(reason)),
        {.token = record_->token(), .node = node_->own_name(), .held = now - record_->since()});
  }
  const auto loss = std::make_shared<LossNotification>(path_, record_->loss_source(),
                                                       std::move(delete_node), std::move(line));
  loss_ = loss;
  loss->start();
  node_->requeue_behind();
  assert_invariants();
}

// A lapsed lease is no release. If the delay marker stays, the next contender must list the
// children, so that it finds the marker. The znode has not been watched since the loss: later, its
// name can be another contender's in a recreated path. So it is read first.
void Contender::delete_lost_node(BackgroundWork::Id work, core::Instant lost_at) {
  const bool is_late = context().scheduler().now() - lost_at > kLongestUnwatched;
  const bool in_doubt =
      is_late || node_->machine().delay_markers().has_own() || !record_->check_lease();
  node_->remove(in_doubt ? LockNode::RemovalCause::loss : LockNode::RemovalCause::release, work);
}

std::shared_ptr<void> Contender::delay_delete() {
  path_->assert_held();
  const auto loss = loss_.lock();
  return loss ? loss->delay_delete() : nullptr;
}

std::shared_ptr<void> Contender::delay_delete(const Hold& hold) {
  if (!hold) return nullptr;
  const EngineLock lock(hold.contender_->path_->entry());
  return hold.contender_->delay_delete();
}

}  // namespace zklock::detail
