// SPDX-License-Identifier: Apache-2.0
#include "zklock/composite_hold.h"

#include <utility>

#include "zklock/engine/path_lock.h"
#include "zklock/recipes/composite/composite_grant.h"
#include "zklock/recipes/locks/blocked_by.h"
#include "zklock/recipes/locks/checked_options.h"

namespace zklock {

CompositeHold::CompositeHold(std::shared_ptr<detail::CompositeGrant> parts,
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
  return detail::read_blocked_by(refused_, deadline);
}

void CompositeHold::release() noexcept {
  if (auto parts = std::exchange(parts_, nullptr))
    detail::CompositeGrant::release(std::move(parts));
  detail::forget_refusal(std::exchange(refused_, nullptr));
}

}  // namespace zklock
