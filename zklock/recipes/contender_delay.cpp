// SPDX-License-Identifier: Apache-2.0
// A contender and the delay after a loss: what it leaves behind, and what it finds; see
// core/lock_delay.h.
#include <algorithm>
#include <string>
#include <utility>

#include "zklock/recipes/contender.h"

namespace zklock::recipes {

namespace request = client::request;

namespace {

// Who is not in the queue any more changes nothing.
request::Transaction while_queued(const Contender& contender, request::Write write) {
  return {contender.engine().path().child(contender.own_name()), {std::move(write)}};
}

}  // namespace

void Contender::mark(const Effect& effect) {
  // The data are for people, who may wonder whose it was.
  request::write::Create marker{engine_->path().child(effect.text), identity_.encode()};
  submit(while_queued(*this, std::move(marker)), effect.session,
         entering([](Contender& c, const client::Reply& r) {
           c.run(c.fsm_.marked(r.status, c.lease_valid(), r.detail));
         }));
}

void Contender::leave_no_delay() {
  if (std::string marker = fsm_.unmark(); !marker.empty())
    unwanted_delay_marker_ = std::move(marker);
}

// The name stays: a release must not come before this has been done.
void Contender::remove_unwanted_delay_marker() {
  if (unwanted_delay_marker_.empty()) return;
  core().remove(fsm_.session(), engine_->path().child(unwanted_delay_marker_));
}

void Contender::clear(const Effect& effect) {
  const std::string marker = engine_->path().child(effect.text);
  submit(while_queued(*this, request::write::Remove{marker}), effect.session,
         entering([marker](Contender& c, const client::Reply& r) {
           if (r.status == core::Status::ok) c.core().loss_sightings().forget(marker);
           c.run(c.fsm_.cleared(r.status, r.detail));
         }));
}

void Contender::delay() {
  end_delay();
  const core::Instant now = core().scheduler().now();
  core::Instant due = now;
  for (const core::DelayMarker& orphan : fsm_.orphans()) {
    const std::string marker = engine_->path().child(orphan.name);
    due = std::max(due, core().loss_sightings().first_seen(marker, now) + orphan.length);
  }
  if (due <= now) return run(fsm_.delay_over());
  if (!policy_.wait) return run(fsm_.delay_lasts());
  delay_timer_ = core().scheduler().at(due, entering([round = ++delays_](Contender& c) {
                                         // One that was cancelled may have begun before.
                                         if (round == c.delays_) c.run(c.fsm_.delay_over());
                                       }));
}

void Contender::end_delay() noexcept {
  core().scheduler().cancel(std::exchange(delay_timer_, {}));
}

}  // namespace zklock::recipes
