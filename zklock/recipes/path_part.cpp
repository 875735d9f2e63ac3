// SPDX-License-Identifier: Apache-2.0
#include "zklock/recipes/path_part.h"

#include <utility>

#include "zklock/recipes/acquire_call.h"
#include "zklock/recipes/contender.h"
#include "zklock/recipes/thread_exit.h"

namespace zklock::recipes {

PathPart::PathPart(ClientCore& core, const core::LockPath& path,
                   std::chrono::milliseconds lock_delay, LockAudience audience)
    : engine_(core.engine(path)), lock_delay_(lock_delay), audience_(std::move(audience)) {
  engine_->attach();
}

PathPart::~PathPart() {
  if (engine_->detach()) {
    core().warn("lock " + path() + ": the mutex is destroyed while locked");
  }
}

std::function<void()> PathPart::ask(Request request) {
  auto call = AcquireCall::start(engine_,
                                 {.owner = request.owner,
                                  .deadline = request.deadline,
                                  .kind = request.kind,
                                  .queue_again = request.queue_again,
                                  .limit = request.limit,
                                  .audience = audience_,
                                  .lock_delay = lock_delay_,
                                  .done = std::move(request.done)},
                                 {});
  return [call = std::move(call)] { call->cancel(); };
}

bool PathPart::unlock(const Owner& owner) {
  return engine_->unlock(owner, core::CountKind::lock);
}

int PathPart::count(const Owner& owner) {
  return engine_->ownership(owner).exclusive_count();
}

bool PathPart::in_touch(const Owner& owner) {
  SessionKeeper& keeper = core().keeper();
  return keeper.is_connected() && keeper.valid_term(keeper.session()) != nullptr &&
         !engine_->node_of(owner).empty();
}

void PathPart::unlock_at_thread_exit() {
  call_at_thread_exit(engine_);
}

ClientCore& PathPart::core() noexcept {
  return engine_->core();
}

const std::string& PathPart::path() const noexcept {
  return engine_->path().str();
}

}  // namespace zklock::recipes
