// SPDX-License-Identifier: Apache-2.0
#include "zklock/engine/sequence_hint.h"

#include <chrono>
#include <utility>

#include "zklock/engine/path_context.h"

namespace zklock::detail {

namespace request = client::request;

namespace {

constexpr std::chrono::seconds kLongestRest{1};
/// After the watch was refused, it is not requested again for this long.
constexpr std::chrono::minutes kPauseAfterRefusal{1};

}  // namespace

void SequenceHint::on_granted(core::Sequence number, core::Instant now) {
  assert_invariants();
  const core::Sequence before = std::exchange(granted_, number);
  const bool is_soon = now - std::exchange(granted_at_, now) < kLongestRest;
  is_adjacent_ = is_soon && number.value == before.value + 1;
  if (!is_adjacent_ || !path_.is_used() || now < not_before_) return;
  const bool is_requested = watch_ != client::RequestId{};
  if (is_requested && connection_ == path_.core().keeper().connection()) return;
  end();
  if (watch()) look_again(now + kLongestRest);
  assert_invariants();
}

/// Returns a callback that calls `step` with the engine mutex held. It does nothing after the watch
/// of this call has ended.
template <class Step>
auto SequenceHint::of_this_watch(Step step) {
  return under_lock(path_.weak_from_this(), path_, epoch_.guard(std::move(step)));
}

std::function<void()> SequenceHint::on_release(core::Sequence number, FencingToken token) {
  last_ = {number, token};
  if (watch_ == client::RequestId{}) return {};
  return [this, path = path_.weak_from_this(), token] {
    const auto alive = path.lock();
    if (alive && last_ && last_->token == token) last_->is_deleted = true;
  };
}

bool SequenceHint::watch() {
  if (++path_.core().path_facts().watched > kMostWatchedPaths) {
    --path_.core().path_facts().watched;
    return false;
  }
  is_counted_ = true;
  connection_ = path_.core().keeper().connection();
  request::GetAndWatch watch{.path = path_.path().str(), .on_event = {}};
  watch.on_event = of_this_watch([this](core::SessionId, request::WatchEvent) {
    watch_ = {};
    end();
  });
  watch_ = path_.core().coordinator().submit(
      {.operation = std::move(watch), .session = path_.core().keeper().session()},
      of_this_watch([this](const client::Reply& reply) { on_answered(reply); }));
  return true;
}

void SequenceHint::look_again(core::Instant when) {
  timer_ = path_.core().scheduler().at(when, of_this_watch([this]() {
                                         const core::Instant over = granted_at_ + kLongestRest;
                                         path_.core().scheduler().now() < over ? look_again(over)
                                                                               : end();
                                       }));
}

void SequenceHint::on_answered(const client::Reply& reply) {
  if (reply.status == core::Status::ok && !reply.unreadable) {
    path_czxid_ = reply.token;
    return;
  }
  end();
  if (core::is_temporary_failure(reply.status)) return;
  not_before_ = path_.core().scheduler().now() + kPauseAfterRefusal;
}

bool SequenceHint::is_known() const noexcept {
  const bool is_armed =
      path_czxid_ != core::Zxid{} && connection_ == path_.core().keeper().connection();
  return is_armed && last_ && path_czxid_ < last_->token;
}

bool SequenceHint::is_first(core::Sequence number) const noexcept {
  return is_known() && last_->is_deleted && number.value == last_->number.value + 1;
}

void SequenceHint::end() noexcept {
  epoch_.end();
  path_czxid_ = {};
  if (std::exchange(is_counted_, false)) --path_.core().path_facts().watched;
  path_.core().scheduler().cancel(std::exchange(timer_, {}));
  const auto watch = std::exchange(watch_, {});
  if (watch != client::RequestId{}) path_.core().coordinator().unwatch(watch);
}

}  // namespace zklock::detail
