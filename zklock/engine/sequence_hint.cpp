// SPDX-License-Identifier: Apache-2.0
#include "zklock/engine/sequence_hint.h"

#include <cassert>
#include <utility>

#include "zklock/engine/path_lock.h"

namespace zklock::detail {

void SequenceHint::on_granted(core::Sequence number, core::Instant now) {
  const bool is_next = number.value == std::exchange(granted_, number).value + 1;
  is_adjacent_ = now - std::exchange(granted_at_, now) < kLongestRest && is_next;
  if (!is_adjacent_ || !path_.is_used() || now < not_before_) return;
  if (!watch_.is_free() && connection_ == path_.context().keeper().connection()) return;
  end();
  if (path_.context().path_facts().watched < kMostWatchedPaths) watch();
}

std::function<void()> SequenceHint::on_release(core::Sequence number, FencingToken token) {
  last_ = {number, token};
  if (watch_.is_free()) return {};
  return [this, path = path_.weak_from_this(), token] {
    const auto alive = path.lock();
    if (alive && last_ && last_->token == token) last_->is_deleted = true;
  };
}

void SequenceHint::end() noexcept {
  assert(!watch_.is_free() || path_czxid_ == core::Zxid{});
  if (watch_.is_free()) return;
  --path_.context().path_facts().watched;
  watch_.disarm(path_.context());
  path_czxid_ = {};
  path_.context().scheduler().cancel(std::exchange(timer_, {}));
}

bool SequenceHint::is_known() const noexcept {
  const bool is_armed = path_czxid_ != core::Zxid{};
  const bool is_current = connection_ == path_.context().keeper().connection();
  return is_armed && is_current && last_ && path_czxid_ < last_->token;
}

void SequenceHint::watch() {
  EngineContext& context = path_.context();
  ++context.path_facts().watched;
  connection_ = context.keeper().connection();
  watch_.watch<client::request::GetAndWatch>(
      path_, path_.path().str(), context.keeper().session(),
      [this](const client::Reply& reply) {
        const bool is_armed = reply.status == core::Status::ok && !reply.unreadable;
        if (is_armed) path_czxid_ = reply.token;
        if (!is_armed) end();
        if (is_armed || core::is_temporary_failure(reply.status)) return;
        not_before_ = path_.context().scheduler().now() + kPauseAfterRefusal;
      },
      [this](client::request::WatchEvent) { end(); });
  rest_until(granted_at_ + kLongestRest);
}

void SequenceHint::rest_until(core::Instant when) {
  timer_ = path_.context().scheduler().at(when, watch_.unless_forgotten(path_, [this]() {
    const core::Instant over = granted_at_ + kLongestRest;
    path_.context().scheduler().now() < over ? rest_until(over) : end();
  }));
}

}  // namespace zklock::detail
