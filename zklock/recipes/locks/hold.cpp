// SPDX-License-Identifier: Apache-2.0
#include "zklock/hold.h"

#include <utility>

#include "zklock/engine/callback/lazy_stop_source.h"
#include "zklock/engine/contender.h"
#include "zklock/engine/path_lock.h"
#include "zklock/engine/queue_reader.h"
#include "zklock/engine/session/process.h"
#include "zklock/engine/time_limit.h"
#include "zklock/error.h"
#include "zklock/recipes/locks/checked_options.h"

namespace zklock {

Hold::Hold(std::shared_ptr<detail::Contender> contender, core::CountKind kind) noexcept
    : contender_(std::move(contender)), kind_(kind) {}

Hold::Hold(std::shared_ptr<detail::PathLock> refused) noexcept : refused_(std::move(refused)) {}

Hold::Hold(Hold&& other) noexcept
    : contender_(std::move(other.contender_)),
      kind_(other.kind_),
      refused_(std::move(other.refused_)) {}

Hold& Hold::operator=(Hold&& other) noexcept {
  if (this != &other) {
    release();
    contender_ = std::move(other.contender_);
    kind_ = other.kind_;
    refused_ = std::move(other.refused_);
  }
  return *this;
}

Hold::~Hold() {
  release();
}

FencingToken Hold::token() const noexcept {
  return contender_ ? contender_->hold_record().token() : FencingToken{};
}

HoldState Hold::state() const noexcept {
  return contender_ ? contender_->hold_record().state() : HoldState::lost;
}

std::stop_token Hold::loss_token() const noexcept {
  return contender_ ? contender_->hold_record().loss_token() : detail::stopped_token();
}

std::optional<LossReason> Hold::loss_reason() const noexcept {
  if (!contender_ || contender_->path_lock().context().forked()) return std::nullopt;
  return contender_->hold_record().loss_reason();
}

LeaseClock::time_point Hold::valid_until() const noexcept {
  return contender_ ? contender_->hold_record().valid_until() : LeaseClock::time_point::min();
}

bool Hold::renew() {
  return contender_ && contender_->renew(std::nullopt);
}

bool Hold::renew(std::chrono::milliseconds length) {
  detail::check_renewal(length, *this);
  return contender_ && contender_->renew(detail::saturated(length));
}

std::stop_token Hold::release_request_token() const noexcept {
  return contender_ ? contender_->hold_record().release_request_token() : std::stop_token();
}

std::string Hold::node() const {
  return contender_ ? contender_->node_path() : std::string();
}

std::string Hold::expose_node() const {
  if (!contender_) return {};
  const detail::PathLock& path = contender_->path_lock();
  if (path.context().forked()) return node();
  const detail::EngineLock lock(path.entry());
  return contender_->expose_node();
}

int Hold::permits() const noexcept {
  return contender_ ? contender_->hold_record().permits() : 0;
}

Owner Hold::owner() const noexcept {
  return contender_ ? contender_->owner() : Owner::this_thread();
}

LockState Hold::blocked_by(Deadline deadline) const {
  if (!refused_) return {};
  const detail::TimeLimit limit(deadline, refused_->context().scheduler().now());
  if (!limit.waits()) return {};  // as a query, it would have the connection timeout
  try {
    return detail::read_view(refused_, detail::ViewScope::first_holder(), limit).lock;
  } catch (const Error&) {
    return {};
  }
}

void Hold::release() noexcept {
  if (const auto contender = std::exchange(contender_, nullptr)) contender->release(kind_);
  auto refused = std::exchange(refused_, nullptr);
  // In a fork()ed child, its destructor locks a mutex, which a thread that does not exist in the
  // child may hold.
  if (refused && refused->context().forked()) detail::keep_for_ever(std::move(refused));
}

}  // namespace zklock
