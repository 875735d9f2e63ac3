// SPDX-License-Identifier: Apache-2.0
#include "zklock/recipes/lock_engine.h"

#include <algorithm>
#include <iterator>
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
                       .on_behalf = wanted.on_behalf.get(),
                       .deadline = wanted.deadline,
                       .limit = wanted.limit,
                       .audience = wanted.audience,
                       .done = std::move(wanted.done)};
  if (const auto contender = find(wanted.owner)) {
    contender->join(std::move(call));
    return ticket;
  }
  const bool wait = !wanted.deadline.has_passed(core_->scheduler().now());
  const auto contender = begin(wanted.owner, wanted.on_behalf_of.value_or(wanted.owner),
                               {.rule = std::move(wanted.rule),
                                .wait = wait,
                                .queue_again = wanted.queue_again,
                                .lists = static_cast<bool>(wanted.audience),
                                .lock_delay = wanted.lock_delay},
                               wanted.audience);
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

std::shared_ptr<Contender> LockEngine::begin(const Owner& key, const Owner& owner,
                                             core::AcquireFsm::Policy policy,
                                             LockAudience audience) {
  auto contender = std::make_shared<Contender>(shared_from_this(), key, owner, std::move(policy),
                                               std::move(audience));
  contenders_[key] = contender;
  return contender;
}

std::shared_ptr<Contender> LockEngine::find(const Owner& owner) const {
  const auto found = contenders_.find(owner);
  return found == contenders_.end() ? nullptr : found->second;
}

void LockEngine::forget(const Contender& contender) noexcept {
  const auto found = contenders_.find(contender.key());
  if (found != contenders_.end() && found->second.get() == &contender) contenders_.erase(found);
}

void LockEngine::cancel(const Ticket& ticket) {
  const Section section(*this);
  if (const auto contender = find(ticket.owner)) {
    contender->leave(ticket.number, Contender::Why::cancelled);
  }
}

void LockEngine::cancel_all(const void* object) {
  const Section section(*this);
  const auto contenders = contenders_;
  for (const auto& [owner, contender] : contenders) contender->leave_all(object);
}

bool LockEngine::unlock(const Owner& owner, core::CountKind kind) {
  const bool by_lock = kind == core::CountKind::lock && owner == Owner::this_thread();
  if (by_lock && recursion_.leave()) return true;
  const Section section(*this);
  const auto contender = find(owner);
  if (!contender) return false;
  if (by_lock && contender->ownership().count(kind) == 1) recursion_.end();
  return contender->drop(kind, client::Deleter::Manner::announced) !=
         core::Ownership::Dropped::refused;
}

core::Ownership LockEngine::ownership(const Owner& owner) {
  const Section section(*this);
  const auto contender = find(owner);
  if (!contender || !contender->holds_validly()) return {};
  core::Ownership all = contender->ownership();
  const int more = owner == Owner::this_thread() ? recursion_.count() : 0;
  for (int i = 0; i < more; ++i) all.add(core::CountKind::lock);
  return all;
}

bool LockEngine::contends(const Owner& owner) {
  const Section section(*this);
  return find(owner) != nullptr;
}

void LockEngine::attach() {
  const Section section(*this);
  ++objects_;
}

bool LockEngine::detach() {
  const Section section(*this);
  if (--objects_ > 0) return false;
  if (core_->closed()) {
    recursion_.clear();
    const auto dropped = std::exchange(contenders_, {});
    later([dropped] {});  // they may hold the last reference to this engine's parts
    return false;
  }
  return std::ranges::any_of(contenders_, [](const auto& entry) {
    const core::Ownership& ownership = entry.second->ownership();
    return ownership.count(core::CountKind::lock) > 0 ||
           ownership.count(core::CountKind::shared_lock) > 0;
  });
}

bool LockEngine::numbers_begin_again(core::Sequence number, FencingToken token) {
  if (token <= newest_) return false;  // of one that was looked for
  const bool again = newest_ != FencingToken{} && number <= newest_number_;
  newest_number_ = number;
  newest_ = token;
  if (!again) return false;
  oldest_ = token;
  const auto contenders = contenders_;  // who hears of it may leave
  for (const auto& [owner, contender] : contenders) contender->path_began_again();
  return true;
}

std::string LockEngine::node_of(const Owner& owner) {
  const Section section(*this);
  const auto contender = find(owner);
  return contender ? contender->place().own_name() : std::string();
}

std::vector<std::string> LockEngine::nodes() {
  const Section section(*this);
  std::vector<std::string> names;
  for (const auto& [owner, contender] : contenders_) {
    std::ranges::move(contender->place().own_names(), std::back_inserter(names));
  }
  return names;
}

void LockEngine::close() {
  const Section section(*this);
  const auto contenders = contenders_;
  for (const auto& [owner, contender] : contenders) {
    contender->close();
    if (contender->ownership().count() == 0) forget(*contender);
  }
  if (objects_ > 0) return;
  recursion_.clear();  // nobody is left to unlock
  contenders_.clear();
}

void LockEngine::thread_exits(Owner owner) noexcept {
  if (core_->forked()) return;
  bool dropped = false;
  {
    const Section section(*this);
    recursion_.end();
    const auto contender = find(owner);
    if (!contender) return;
    // Plainly: nobody finished what the lock was for. The exclusive last: it is no downgrade.
    for (const auto kind : {core::CountKind::shared_lock, core::CountKind::lock}) {
      while (contender->drop(kind, client::Deleter::Manner::plainly) !=
             core::Ownership::Dropped::refused) {
        dropped = true;
      }
    }
  }
  if (dropped) core_->warn("lock " + path_.str() + ": a thread ended without unlocking it");
}

}  // namespace zklock::recipes
