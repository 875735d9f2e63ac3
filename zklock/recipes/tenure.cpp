// SPDX-License-Identifier: Apache-2.0
#include "zklock/recipes/tenure.h"

#include <utility>

namespace zklock {

namespace recipes {

Tenure::Tenure(Number number, Hold hold)
    : number_(number),
      token_(hold.token()),
      node_(hold.node()),
      lost_(hold.lost()),
      hold_(std::move(hold)) {}

void Tenure::tell_loss(std::function<void()> on_loss) {
  on_loss_.emplace(lost_, OnLoss{std::move(on_loss)});
}

void Tenure::release() noexcept {
  Hold hold;
  {
    const std::lock_guard guard(mutex_);
    hold = std::move(hold_);
  }
}

HoldState Tenure::state() const noexcept {
  const std::lock_guard guard(mutex_);
  return hold_.state();
}

LeaseClock::time_point Tenure::valid_until() const noexcept {
  const std::lock_guard guard(mutex_);
  return hold_.valid_until();
}

std::stop_token Tenure::over() const noexcept {
  if (over_.stop_requested() || state() != HoldState::lost) return over_.get_token();
  // The thread that stops the token has not come to it yet, but the asker is to know.
  std::stop_source stopped;
  stopped.request_stop();
  return stopped.get_token();
}

}  // namespace recipes

FencingToken Leadership::token() const noexcept {
  return tenure_ ? tenure_->token() : FencingToken{};
}

HoldState Leadership::state() const noexcept {
  return tenure_ ? tenure_->state() : HoldState::lost;
}

std::stop_token Leadership::ended() const noexcept {
  if (tenure_) return tenure_->over();
  return Hold().lost();
}

LeaseClock::time_point Leadership::valid_until() const noexcept {
  return tenure_ ? tenure_->valid_until() : LeaseClock::time_point::min();
}

std::string Leadership::node() const {
  return tenure_ ? tenure_->node() : std::string();
}

const Hold& Leadership::hold() const noexcept {
  static const Hold none;
  return tenure_ ? tenure_->hold() : none;
}

}  // namespace zklock
