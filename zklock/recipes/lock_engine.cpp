// SPDX-License-Identifier: Apache-2.0
#include "zklock/recipes/lock_engine.h"

#include <algorithm>
#include <utility>

#include "zklock/recipes/contender.h"

namespace zklock::recipes {

LockEngine::LockEngine(std::shared_ptr<ClientCore> core, core::LockPath path)
    : core_(std::move(core)), path_(std::move(path)) {}

LockEngine::Section::~Section() {
  // What is in the outbox may drop the last reference to a contender, and so come back here.
  const std::vector<std::function<void()>> outbox = std::exchange(engine_.outbox_, {});
  lock_.unlock();
  for (const auto& task : outbox) {
    try {
      task();
    } catch (const std::exception& e) {  // no thread, no memory: of this one call, not of all
      engine_.core_->warn("lock " + engine_.path_.str() + ": " + e.what());
    }
  }
}

Ticket LockEngine::acquire(Wanted wanted) {
  const Section section(*this);
  if (core_->closed()) throw Error(Errc::closed, "lock", path_.str());
  const Ticket ticket{++last_ticket_, wanted.owner};
  if (wanted.stopped) {
    later([done = std::move(wanted.done)] { done({}); });
    return ticket;
  }
  Contender::Call call{.ticket = ticket.number,
                       .kind = wanted.kind,
                       .on_behalf = wanted.on_behalf,
                       .deadline = wanted.deadline,
                       .done = std::move(wanted.done)};
  if (const auto found = contenders_.find(wanted.owner); found != contenders_.end()) {
    const auto contender = found->second;
    contender->join(std::move(call));
    return ticket;
  }
  const bool wait = !wanted.deadline.has_passed(core_->scheduler().now());
  const auto contender = begin(wanted.owner, {.wait = wait, .queue_again = wanted.queue_again});
  try {
    contender->join(std::move(call));
    contender->start();
  } catch (...) {
    contender->drop_calls();
    forget(*contender);
    throw;
  }
  return ticket;
}

std::shared_ptr<Contender> LockEngine::begin(const Owner& owner, core::AcquireFsm::Policy policy) {
  auto contender = std::make_shared<Contender>(shared_from_this(), owner, policy);
  contenders_[owner] = contender;
  return contender;
}

void LockEngine::forget(const Contender& contender) noexcept {
  const auto found = contenders_.find(contender.owner());
  if (found != contenders_.end() && found->second.get() == &contender) contenders_.erase(found);
}

void LockEngine::cancel(const Ticket& ticket) {
  const Section section(*this);
  const auto found = contenders_.find(ticket.owner);
  if (found == contenders_.end()) return;
  const auto contender = found->second;
  contender->leave(ticket.number, Contender::Why::cancelled);
}

void LockEngine::cancel_all(const void* object) {
  const Section section(*this);
  const auto contenders = contenders_;
  for (const auto& [owner, contender] : contenders) contender->leave_all(object);
}

bool LockEngine::unlock(const Owner& owner) {
  const Section section(*this);
  const auto found = contenders_.find(owner);
  if (found == contenders_.end()) return false;
  const auto contender = found->second;
  return contender->drop(core::CountKind::lock, client::Deleter::Manner::announced) !=
         core::Ownership::Dropped::refused;
}

int LockEngine::count(const Owner& owner) {
  const Section section(*this);
  const auto found = contenders_.find(owner);
  if (found == contenders_.end() || !found->second->holds_validly()) return 0;
  return found->second->ownership().count();
}

void LockEngine::attach() {
  const Section section(*this);
  ++objects_;
}

bool LockEngine::detach() {
  const Section section(*this);
  if (--objects_ > 0) return false;
  if (core_->closed()) {
    const auto dropped = std::exchange(contenders_, {});
    later([dropped] {});  // they may hold the last reference to this engine's parts
    return false;
  }
  return std::ranges::any_of(contenders_, [](const auto& entry) {
    return entry.second->ownership().count(core::CountKind::lock) > 0;
  });
}

std::string LockEngine::node_of(const Owner& owner) {
  const Section section(*this);
  const auto found = contenders_.find(owner);
  return found == contenders_.end() ? std::string() : found->second->own_name();
}

std::vector<std::string> LockEngine::nodes() {
  const Section section(*this);
  std::vector<std::string> names;
  for (const auto& [owner, contender] : contenders_) names.push_back(contender->own_name());
  return names;
}

void LockEngine::close() {
  const Section section(*this);
  const auto contenders = contenders_;
  for (const auto& [owner, contender] : contenders) {
    contender->close();
    if (contender->ownership().count() == 0) forget(*contender);
  }
  if (objects_ == 0) contenders_.clear();  // nobody is left to unlock
}

void LockEngine::thread_exits(Owner owner) noexcept {
  if (core_->forked()) return;
  bool dropped = false;
  {
    const Section section(*this);
    const auto found = contenders_.find(owner);
    if (found == contenders_.end()) return;
    const auto contender = found->second;
    // Plainly: nobody finished what the lock was for.
    while (contender->drop(core::CountKind::lock, client::Deleter::Manner::plainly) !=
           core::Ownership::Dropped::refused) {
      dropped = true;
    }
  }
  if (dropped) core_->warn("lock " + path_.str() + ": a thread ended without unlocking it");
}

}  // namespace zklock::recipes
