// SPDX-License-Identifier: Apache-2.0
#include "zklock/recipes/lock_engine.h"

#include <algorithm>
#include <iterator>
#include <new>
#include <utility>

#include "zklock/recipes/acquire_call.h"
#include "zklock/recipes/contender.h"
#include "zklock/recipes/local_queue.h"
#include "zklock/recipes/slices.h"
#include "zklock/recipes/timed_lock.h"

namespace zklock::recipes {

namespace {

/// The longest wait of an acquire for the mutex. Most Sections are shorter.
constexpr std::chrono::milliseconds patience_with_sections{10};

/// The outbox tasks that this thread runs, of one engine.
struct Emptying;
constinit thread_local Emptying* emptying = nullptr;
struct Emptying {
  Emptying(const LockEngine& of, std::vector<std::function<void()>> all)
      : engine(&of), tasks(std::move(all)) {}
  Emptying(const Emptying&) = delete;
  Emptying& operator=(const Emptying&) = delete;
  ~Emptying() { emptying = outer; }

  const LockEngine* const engine;
  std::vector<std::function<void()>> tasks;
  Emptying* const outer = std::exchange(emptying, this);
};

}  // namespace

template <class Step>
bool LockEngine::soon(Step step) noexcept {
  try {
    core_->coordinator().soon([weak = weak_from_this(), step = std::move(step)] {
      const auto engine = weak.lock();
      if (!engine) return;
      const Section section(*engine);
      step(*engine);
    });
    return true;
  } catch (const std::exception& e) {  // no memory
    core_->warn("lock " + path_.str() + ": " + e.what());
    return false;
  }
}

LockEngine::LockEngine(std::shared_ptr<ClientCore> core, core::LockPath path, bool counter_ended)
    : core_(std::move(core)), path_(std::move(path)), counter_has_ended_(counter_ended) {}

LockEngine::~LockEngine() = default;

LockEngine::Section::Section(LockEngine& engine)
    : Section(engine, std::unique_lock(engine.mutex_)) {}

LockEngine::Section::Section(LockEngine& engine, std::unique_lock<std::timed_mutex> lock)
    : engine_(engine), lock_(std::move(lock)) {
  auto& leaving = engine_.leaving_;
  while (!leaving.empty()) {
    try {
      leaving.back()->let_go(Place::Manner::release);
      engine_.later([contender = leaving.back()] {});  // it may be the last reference
      leaving.pop_back();
    } catch (const std::exception& e) {  // no memory: the next Section tries again
      engine_.core_->warn("lock " + engine_.path_.str() + ": " + e.what());
      break;
    }
  }
}

LockEngine::Section::~Section() {
  // A release can grant a further contender, which can decline too.
  for (std::size_t i = 0; i < engine_.declining_.size(); ++i) {
    const auto [contender, kind] = engine_.declining_[i];
    contender->drop(kind, Place::Manner::release);
  }
  const auto declined = std::exchange(engine_.declining_, {});  // perhaps the last references
  const bool put_off = std::exchange(engine_.put_off_, false);
  std::vector<std::function<void()>> outbox = std::exchange(engine_.outbox_, {});
  if (!put_off && outbox.empty() && declined.empty()) return;
  const auto engine = engine_.shared_from_this();  // other references may end after unlock()
  lock_.unlock();
  if (put_off) engine->soon([](LockEngine&) {});  // if it fails, the next Section does it
  if (outbox.empty()) return;
  // A task can drop a hold, and so end another Section here. Its tasks go to the outer loop, which
  // bounds the depth of the stack.
  if (emptying != nullptr && emptying->engine == &engine_) {
    std::ranges::move(outbox, std::back_inserter(emptying->tasks));
    return;
  }
  Emptying mine(engine_, std::move(outbox));
  for (std::size_t i = 0; i < mine.tasks.size(); ++i) {
    const auto task = std::move(mine.tasks[i]);
    try {
      task();
    } catch (const std::exception& e) {  // no thread or memory: only this task fails
      engine->core_->warn("lock " + engine->path_.str() + ": " + e.what());
    }
  }
}

void LockEngine::settle() {
  const Section section(*this);
  for (const auto& [owner, contender] : by_owner()) {
    contender->look_at_the_clock();  // its timer may fire a moment later
    contender->sweep();
  }
}

void LockEngine::sweep_soon(const Owner& owner) noexcept {
  ++deferred_;
  const bool sure = soon([owner](LockEngine& engine) {
    --engine.deferred_;
    if (const auto contender = engine.find(owner)) contender->sweep();
  });
  if (!sure) --deferred_;
}

void LockEngine::acquire(const std::shared_ptr<AcquireCall>& call, Wanted wanted) {
  // Asynchronous calls of one thread keep their order. A single attempt must not fail because of a
  // contender that is about to be withdrawn.
  const bool keeps_order = !wanted.blocks || !call->waits();
  if (keeps_order && deferred_ > 0) return enter_soon(call, std::move(wanted));
  std::unique_lock lock(mutex_, std::defer_lock);
  const auto now = LeaseClock::now();
  if (!lock_within(lock, slice_before(call->deadline(), now, patience_with_sections))) {
    return enter_soon(call, std::move(wanted));
  }
  const Section section(*this, std::move(lock));
  enter(call, std::move(wanted));
}

void LockEngine::enter_soon(const std::shared_ptr<AcquireCall>& call, Wanted wanted) {
  wanted.requester = Requester::of_this_thread(wanted.on_behalf_of.value_or(wanted.owner));
  call->arm(call->waits());
  ++deferred_;
  const bool sure = soon([call, wanted = std::move(wanted)](LockEngine& engine) {
    --engine.deferred_;
    try {
      engine.enter(call, wanted);
    } catch (const Error& error) {
      call->complete({.error = error});
    } catch (const std::exception& e) {  // no memory
      call->complete({.error = Error(Errc::not_connected, "lock", engine.path_.str(), e.what())});
    }
  });
  if (sure) return;
  --deferred_;
  call->disarm();
  throw std::bad_alloc();
}

void LockEngine::enter(const std::shared_ptr<AcquireCall>& call, Wanted wanted) {
  if (call->has_ended()) return;
  const bool destroyed = wanted.on_behalf && *wanted.on_behalf;
  if (core_->closed() || destroyed) throw Error(Errc::closed, "lock", path_.str());
  if (const auto contender = find(wanted.owner)) {
    contender->sweep();
    if (contender->ownership().state() != core::Ownership::State::over) {
      return contender->join(call);
    }
  }
  if (auto refusal = core_->retry_refused_removals(path_)) {
    call->complete({.error = std::move(refusal)});
    return;
  }
  const bool wait = !wanted.deadline.has_passed(core_->scheduler().now());
  core::AcquireFsm::Policy policy{.rule = wanted.rule,
                                  .gate = wanted.gate,
                                  .wait = wait,
                                  .queue_again = wanted.queue_again,
                                  .lists = static_cast<bool>(wanted.audience),
                                  .counts = !goes_by_number(),
                                  .lock_delay = wanted.lock_delay};
  const auto local = local_queue(policy, wanted.local);
  const auto requester =
      wanted.requester ? *wanted.requester
                       : Requester::of_this_thread(wanted.on_behalf_of.value_or(wanted.owner));
  const auto contender = begin(wanted.owner, requester, policy, wanted.audience, local);
  try {
    contender->join(call);
    contender->start(requester);
  } catch (...) {
    contender->drop_calls();
    if (local) local->leave(*contender);
    forget(*contender);
    throw;
  }
}

std::shared_ptr<Contender> LockEngine::begin(const Owner& key, Requester requester,
                                             core::AcquireFsm::Policy policy, LockAudience audience,
                                             std::shared_ptr<LocalQueue> local) {
  auto contender =
      std::make_shared<Contender>(shared_from_this(), key, std::move(requester), std::move(policy),
                                  std::move(audience), std::move(local));
  contenders_[key] = contender;
  return contender;
}

std::shared_ptr<LocalQueue> LockEngine::local_queue(const core::AcquireFsm::Policy& policy,
                                                    const core::LocalTerms& terms) {
  if (!terms.shares()) return nullptr;
  for (const auto& queue : local_queues_) {
    if (queue->agrees(policy, terms)) return queue;
  }
  // Queues without a contender and without a place have no other reference.
  std::erase_if(local_queues_, [](const auto& queue) { return queue.use_count() == 1; });
  return local_queues_.emplace_back(std::make_shared<LocalQueue>(*this, policy, terms));
}

bool LockEngine::anyone_waits() const {
  return std::ranges::any_of(contenders_, [](const auto& entry) {
    return entry.second->ownership().state() == core::Ownership::State::waiting;
  });
}

std::shared_ptr<Contender> LockEngine::find(const Owner& owner) const {
  const auto found = contenders_.find(owner);
  return found == contenders_.end() ? nullptr : found->second;
}

std::map<Owner, std::shared_ptr<Contender>> LockEngine::by_owner() const {
  return {contenders_.begin(), contenders_.end()};
}

void LockEngine::forget(const Contender& contender) noexcept {
  const auto found = contenders_.find(contender.key());
  if (found != contenders_.end() && found->second.get() == &contender) contenders_.erase(found);
}

void LockEngine::cancel_all(const void* object) {
  const Section section(*this);
  for (const auto& [owner, contender] : by_owner()) contender->leave_all(object);
}

void LockEngine::fail_waiting(Errc code, const std::string& cause) {
  const Section section(*this);
  const auto contenders = contenders_;
  for (const auto& [owner, contender] : contenders) contender->fail(code, cause);
}

// After the last public object was destroyed and close() has run, unlock() is never called.
void LockEngine::locked(std::shared_ptr<const Contender> contender) noexcept {
  const std::lock_guard guard(mutex_);
  if (is_used()) recursion_.begin(std::move(contender));
}

bool LockEngine::unlock(const Owner& owner, core::CountKind kind) {
  const bool by_lock = kind == core::CountKind::lock && owner == Owner::this_thread();
  if (by_lock && unlock_again()) return true;
  const Section section(*this);
  const auto contender = find(owner);
  if (!contender) return false;
  if (by_lock && contender->ownership().count(kind) == 1) recursion_.end();
  return contender->drop(kind, Place::Manner::release) != core::Ownership::Dropped::refused;
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

void LockEngine::attach() {
  const Section section(*this);
  ++objects_;
}

bool LockEngine::detach() {
  const Section section(*this);
  if (--objects_ > 0) return false;
  own_turn_.end();
  for (const auto& queue : local_queues_) queue->end_idling();
  if (core_->closed()) {
    recursion_.clear();
    const auto dropped = std::exchange(contenders_, {});
    later([dropped] {});  // they may hold the last references to parts of this engine
    return false;
  }
  return std::ranges::any_of(contenders_, [](const auto& entry) {
    const core::Ownership& ownership = entry.second->ownership();
    return ownership.count(core::CountKind::lock) > 0 ||
           ownership.count(core::CountKind::shared_lock) > 0;
  });
}

bool LockEngine::numbers_begin_again(core::Sequence number, FencingToken token, SessionId session) {
  if (std::exchange(newest_session_, session) != session) {
    newest_ = gone_ = {};  // the ensemble may have been emptied: its czxids begin again
    own_turn_.forget();
    trust_.forget();
  }
  if (token <= newest_) return false;          // a znode that was found by a search
  if (!core::is_usable(number)) return false;  // past the counter's end, numbers can be lower
  const bool again = newest_ != FencingToken{} && number <= newest_number_;
  newest_number_ = number;
  // Znodes with a czxid between the two have lost their replies and may be in the new path.
  const FencingToken before = std::exchange(newest_, token);
  if (!again) return false;
  gone_ = before;
  for (const auto& [owner, contender] : by_owner()) contender->path_began_again();
  for (const auto& queue : local_queues_) queue->path_began_again();
  return true;
}

void LockEngine::counter_is_at(core::Sequence number) {
  const bool has_ended = !core::is_usable(number);
  if (has_ended == counter_has_ended_) return;
  core_->counter_has_ended(path_, has_ended);
  counter_has_ended_ = has_ended;
}

void LockEngine::path_seen(const client::Reply& stat) {
  if (stat.status != core::Status::ok) return;
  counter_is_at(stat.next);
  trust_.seen({stat.token, stat.acl_version}, stat.sent_at);
}

void LockEngine::announcement_awaited(SessionId session) noexcept {
  if (!trust_.wants_acl(core_->scheduler().now())) return;
  try {
    core_->coordinator().submit(
        {.operation = client::request::GetAcl{path_.str()}, .session = session},
        [weak = weak_from_this()](const client::Reply& reply) {
          const auto engine = weak.lock();
          if (!engine) return;
          const Section section(*engine);
          engine->acl_answered(reply);
        });
  } catch (const std::exception&) {  // no memory: until the ACL is read, the children are listed
    trust_.acl_not_read();
  }
}

void LockEngine::acl_answered(const client::Reply& reply) {
  if (reply.status == core::Status::ok) {
    trust_.acl_read({reply.token, reply.acl_version}, reply.last_child, reply.acl, reply.sent_at);
  } else if (reply.status == core::Status::no_auth) {
    trust_.acl_refused(reply.sent_at);
  } else {
    trust_.acl_not_read();
  }
}

LockEngine::Standing LockEngine::standing_of(const Owner& owner) {
  const Section section(*this);
  const auto contender = find(owner);
  if (!contender) return {};
  return {contender->place().own_name(), contender->before_it()};
}

std::vector<std::string> LockEngine::nodes() {
  const Section section(*this);
  return nodes_in_section();
}

std::vector<std::string> LockEngine::nodes_in_section() const {
  std::vector<std::string> names;
  for (const auto& [owner, contender] : contenders_) {
    std::ranges::move(contender->place().own_names(), std::back_inserter(names));
  }
  for (const auto& queue : local_queues_) {
    if (const auto idle = queue->idle_place()) names.push_back(idle->own_name());
  }
  return names;
}

void LockEngine::close() {
  const Section section(*this);
  turnstile_.close();
  own_successors_.clear();
  for (const auto& queue : local_queues_) queue->close();
  for (const auto& [owner, contender] : by_owner()) {
    contender->close();
    if (contender->ownership().count() == 0) forget(*contender);
  }
  if (objects_ > 0) return;
  recursion_.clear();  // without a public object, there is no unlock()
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
    // Plainly, because the work is unfinished. Exclusive counts are last: nothing is downgraded.
    for (const auto kind : {core::CountKind::shared_lock, core::CountKind::lock}) {
      while (contender->drop(kind, Place::Manner::plainly) != core::Ownership::Dropped::refused) {
        dropped = true;
      }
    }
  }
  if (dropped) core_->warn("lock " + path_.str() + ": a thread ended without unlocking it");
}

}  // namespace zklock::recipes
