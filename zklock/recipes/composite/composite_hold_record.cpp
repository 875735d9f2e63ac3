// SPDX-License-Identifier: Apache-2.0
#include "zklock/recipes/composite/composite_hold_record.h"

#include <string>
#include <utility>

#include "zklock/composite_hold.h"
#include "zklock/engine/callback/lazy_stop_source.h"
#include "zklock/engine/callback/post_or_run.h"
#include "zklock/engine/contender.h"
#include "zklock/engine/path_lock.h"
#include "zklock/recipes/locks/checked_options.h"
#include "zklock/recipes/locks/lock_handle.h"

namespace zklock {

namespace detail {

CompositeHoldRecord::CompositeHoldRecord(const Owner& owner, std::vector<Part> taken,
                                         std::size_t parts, std::size_t needed)
    : owner_(owner),
      needed_(needed),
      holds_(parts),
      tally_(std::make_shared<Tally>(needed, taken.size())) {
  for (Part& part : taken) {
    Hold& hold = holds_.at(part.index);
    hold = std::move(part.hold);
    order_.push_back(part.index);
    on_loss_.emplace_back(hold.loss_token(), OnLoss{tally_, std::move(part.context), hold});
  }
}

CompositeHoldRecord::~CompositeHoldRecord() {
  on_loss_.clear();
  for (auto index = order_.rbegin(); index != order_.rend(); ++index) holds_[*index].release();
}

void CompositeHoldRecord::release(std::shared_ptr<CompositeHoldRecord> record) noexcept {
  if (record->fork_guard_.forked()) keep_for_ever(std::move(record));
}

// Runs on a thread of the client that notifies losses. release() blocks until this function has
// returned, and must not wait for the user's callbacks. So they run in a separate task.
void CompositeHoldRecord::OnLoss::operator()() const noexcept {
  if (tally->left.fetch_sub(1) != tally->needed) return;
  const std::string node = hold.node();
  post_or_run(context, context->loss_dispatcher(),
              [&client = *context, node, source = tally->source,
               until = Contender::delay_delete(hold)]() mutable {
                const RunningCallbacks::ScopedCall call(client,
                                                        "a loss callback of several locks, with ",
                                                        node, client.scheduler().now());
                source.request_stop();
              });
}

HoldState CompositeHoldRecord::state() const noexcept {
  std::size_t held = 0;
  std::size_t valid = 0;
  for (const Hold& hold : holds_) {
    switch (hold.state()) {
      case HoldState::held: ++held; [[fallthrough]];
      case HoldState::suspended: ++valid; break;
      case HoldState::lost: break;
    }
  }
  if (held >= needed_) return HoldState::held;
  return valid >= needed_ ? HoldState::suspended : HoldState::lost;
}

std::stop_token CompositeHoldRecord::loss_token() const noexcept {
  if (state() != HoldState::lost || tally_->source.stop_requested()) {
    return tally_->source.get_token();
  }
  return stopped_token();
}

// Returns the latest time until which enough holds are valid. For each candidate, all holds are
// read again: a lease that was extended meanwhile does no harm, and a lapsed lease is not counted.
LeaseClock::time_point CompositeHoldRecord::valid_until() const noexcept {
  auto latest = LeaseClock::time_point::min();
  for (const Hold& candidate : holds_) {
    const auto until = candidate.valid_until();
    if (until <= latest) continue;
    const auto as_long =
        std::ranges::count_if(holds_, [&](const Hold& h) { return h.valid_until() >= until; });
    if (static_cast<std::size_t>(as_long) >= needed_) latest = until;
  }
  return latest;
}

}  // namespace detail

// ---- CompositeHold ------------------------------------------------------------------------------

using detail::CompositeHoldRecord;

CompositeHold::CompositeHold(std::shared_ptr<CompositeHoldRecord> parts,
                             std::shared_ptr<detail::PathLock> refused) noexcept
    : parts_(std::move(parts)), refused_(std::move(refused)) {}

CompositeHold::CompositeHold(CompositeHold&& other) noexcept
    : parts_(std::move(other.parts_)), refused_(std::move(other.refused_)) {}

CompositeHold& CompositeHold::operator=(CompositeHold&& other) noexcept {
  if (this != &other) {
    release();
    parts_ = std::move(other.parts_);
    refused_ = std::move(other.refused_);
  }
  return *this;
}

CompositeHold::~CompositeHold() {
  release();
}

HoldState CompositeHold::state() const noexcept {
  return parts_ ? parts_->state() : HoldState::lost;
}

std::stop_token CompositeHold::loss_token() const noexcept {
  return parts_ ? parts_->loss_token() : Hold().loss_token();
}

LeaseClock::time_point CompositeHold::valid_until() const noexcept {
  return parts_ ? parts_->valid_until() : LeaseClock::time_point::min();
}

bool CompositeHold::renew() {
  return parts_ && parts_->renew([](Hold& hold) { return hold.renew(); });
}

bool CompositeHold::renew(std::chrono::milliseconds length) {
  detail::check_renewal(length, Hold());
  return parts_ && parts_->renew([length](Hold& hold) { return hold.renew(length); });
}

std::span<const Hold> CompositeHold::holds() const noexcept {
  return parts_ ? parts_->holds() : std::span<const Hold>();
}

const Hold& CompositeHold::operator[](std::size_t i) const noexcept {
  static const Hold kNone;
  const auto all = holds();
  return i < all.size() ? all[i] : kNone;
}

Owner CompositeHold::owner() const noexcept {
  return parts_ ? parts_->owner() : Owner::this_thread();
}

LockState CompositeHold::blocked_by(Deadline deadline) const {
  return detail::LockHandle::refused(refused_).blocked_by(deadline);
}

void CompositeHold::release() noexcept {
  if (auto parts = std::exchange(parts_, nullptr)) CompositeHoldRecord::release(std::move(parts));
  detail::LockHandle::refused(std::exchange(refused_, nullptr)).release();
}

}  // namespace zklock
