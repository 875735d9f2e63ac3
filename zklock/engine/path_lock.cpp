// SPDX-License-Identifier: Apache-2.0
#include "zklock/engine/path_lock.h"

#include <algorithm>
#include <iterator>
#include <new>
#include <utility>

#include "zklock/engine/callback/timed_lock.h"
#include "zklock/engine/cohort.h"
#include "zklock/engine/contender.h"
#include "zklock/engine/pending_acquire.h"
#include "zklock/engine/session/wait_in_slices.h"

namespace zklock::detail {

namespace {

/// The longest wait of an acquire for the mutex. Most Sections are shorter.
constexpr std::chrono::milliseconds patience_with_sections{10};

/// The outbox tasks that this thread runs, of one path lock.
struct Emptying;
constinit thread_local Emptying* emptying = nullptr;
struct Emptying {
  Emptying(const PathLock& of, std::vector<std::function<void()>> all)
      : path_lock(&of), tasks(std::move(all)) {}
  Emptying(const Emptying&) = delete;
  Emptying& operator=(const Emptying&) = delete;
  ~Emptying() { emptying = outer; }

  const PathLock* const path_lock;
  std::vector<std::function<void()>> tasks;
  Emptying* const outer = std::exchange(emptying, this);
};

}  // namespace

template <class Step>
bool PathLock::soon(Step step) noexcept {
  try {
    core_->coordinator().soon([weak = weak_from_this(), step = std::move(step)] {
      const auto path_lock = weak.lock();
      if (!path_lock) return;
      const Section section(*path_lock);
      step(*path_lock);
    });
    return true;
  } catch (const std::exception& e) {  // no memory
    core_->warn("lock " + path_.str() + ": " + e.what());
    return false;
  }
}

PathLock::PathLock(std::shared_ptr<EngineContext> core, core::LockPath path, bool counter_ended)
    : core_(std::move(core)), path_(std::move(path)), counter_has_ended_(counter_ended) {}

PathLock::~PathLock() = default;

PathLock::Section::Section(PathLock& path_lock)
    : Section(path_lock, std::unique_lock(path_lock.mutex_)) {}

PathLock::Section::Section(PathLock& path_lock, std::unique_lock<std::timed_mutex> lock)
    : path_lock_(path_lock), lock_(std::move(lock)) {
  auto& leaving = path_lock_.leaving_;
  while (!leaving.empty()) {
    try {
      leaving.back()->release_node(LockNode::Manner::release);
      path_lock_.later([contender = leaving.back()] {});  // it may be the last reference
      leaving.pop_back();
    } catch (const std::exception& e) {  // no memory: the next Section tries again
      path_lock_.core_->warn("lock " + path_lock_.path_.str() + ": " + e.what());
      break;
    }
  }
}

PathLock::Section::~Section() {
  // A release can grant a further contender, which can decline too.
  for (std::size_t i = 0; i < path_lock_.declining_.size(); ++i) {
    const auto [contender, kind] = path_lock_.declining_[i];
    contender->drop(kind, LockNode::Manner::release);
  }
  const auto declined = std::exchange(path_lock_.declining_, {});  // perhaps the last references
  const bool put_off = std::exchange(path_lock_.put_off_, false);
  std::vector<std::function<void()>> outbox = std::exchange(path_lock_.outbox_, {});
  if (!put_off && outbox.empty() && declined.empty()) return;
  const auto path_lock = path_lock_.shared_from_this();  // other references may end after unlock()
  lock_.unlock();
  if (put_off) path_lock->soon([](PathLock&) {});  // if it fails, the next Section does it
  if (outbox.empty()) return;
  // A task can drop a hold, and so end another Section here. Its tasks go to the outer loop, which
  // bounds the depth of the stack.
  if (emptying != nullptr && emptying->path_lock == &path_lock_) {
    std::ranges::move(outbox, std::back_inserter(emptying->tasks));
    return;
  }
  Emptying mine(path_lock_, std::move(outbox));
  for (std::size_t i = 0; i < mine.tasks.size(); ++i) {
    const auto task = std::move(mine.tasks[i]);
    try {
      task();
    } catch (const std::exception& e) {  // no thread or memory: only this task fails
      path_lock->core_->warn("lock " + path_lock->path_.str() + ": " + e.what());
    }
  }
}

void PathLock::settle() {
  const Section section(*this);
  for (const auto& [owner, contender] : by_owner()) {
    contender->look_at_the_clock();  // its timer may fire a moment later
    contender->sweep();
  }
}

void PathLock::sweep_soon(const Owner& owner) noexcept {
  ++deferred_;
  const bool sure = soon([owner](PathLock& path_lock) {
    --path_lock.deferred_;
    if (const auto contender = path_lock.find(owner)) contender->sweep();
  });
  if (!sure) --deferred_;
}

void PathLock::acquire(const std::shared_ptr<PendingAcquire>& call, AcquireRequest request) {
  // Asynchronous calls of one thread keep their order. A single attempt must not fail because of a
  // contender that is about to be withdrawn.
  const bool keeps_order = !request.blocks || !call->waits();
  if (keeps_order && deferred_ > 0) return enter_soon(call, std::move(request));
  std::unique_lock lock(mutex_, std::defer_lock);
  const auto now = LeaseClock::now();
  if (!lock_within(lock, slice_before(call->deadline(), now, patience_with_sections))) {
    return enter_soon(call, std::move(request));
  }
  const Section section(*this, std::move(lock));
  enter(call, std::move(request));
}

void PathLock::enter_soon(const std::shared_ptr<PendingAcquire>& call, AcquireRequest request) {
  request.requester = Requester::of_this_thread(request.on_behalf_of.value_or(request.owner));
  call->arm(call->waits());
  ++deferred_;
  const bool sure = soon([call, request = std::move(request)](PathLock& path_lock) {
    --path_lock.deferred_;
    try {
      path_lock.enter(call, request);
    } catch (const Error& error) {
      call->complete({.error = error});
    } catch (const std::exception& e) {  // no memory
      call->complete(
          {.error = Error(Errc::not_connected, "lock", path_lock.path_.str(), e.what())});
    }
  });
  if (sure) return;
  --deferred_;
  call->disarm();
  throw std::bad_alloc();
}

void PathLock::enter(const std::shared_ptr<PendingAcquire>& call, AcquireRequest request) {
  if (call->has_ended()) return;
  const bool destroyed = request.on_behalf && *request.on_behalf;
  if (core_->closed() || destroyed) throw Error(Errc::closed, "lock", path_.str());
  if (const auto contender = find(request.owner)) {
    contender->sweep();
    if (contender->ownership().state() != core::Ownership::State::over) {
      return contender->join(call);
    }
  }
  if (auto refusal = core_->removals().retry(path_)) {
    call->complete({.error = std::move(refusal)});
    return;
  }
  const bool wait = !request.deadline.has_passed(core_->scheduler().now());
  core::AcquireFsm::Policy policy{.rule = request.rule,
                                  .gate = request.gate,
                                  .wait = wait,
                                  .queue_again = request.queue_again,
                                  .lists = static_cast<bool>(request.event_sink),
                                  .counts = !goes_by_number(),
                                  .lock_delay = request.lock_delay};
  const auto local = cohort(policy, request.local);
  const auto requester =
      request.requester ? *request.requester
                        : Requester::of_this_thread(request.on_behalf_of.value_or(request.owner));
  const auto contender = begin(request.owner, requester, policy, request.event_sink, local);
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

std::shared_ptr<Contender> PathLock::begin(const Owner& key, Requester requester,
                                           core::AcquireFsm::Policy policy,
                                           LockEventSink event_sink,
                                           std::shared_ptr<Cohort> local) {
  auto contender =
      std::make_shared<Contender>(shared_from_this(), key, std::move(requester), std::move(policy),
                                  std::move(event_sink), std::move(local));
  contenders_[key] = contender;
  return contender;
}

std::shared_ptr<Cohort> PathLock::cohort(const core::AcquireFsm::Policy& policy,
                                         const core::CohortPolicy& terms) {
  if (!terms.shares()) return nullptr;
  for (const auto& queue : cohorts_) {
    if (queue->agrees(policy, terms)) return queue;
  }
  // Queues without a contender and without a lock node have no other reference.
  std::erase_if(cohorts_, [](const auto& queue) { return queue.use_count() == 1; });
  return cohorts_.emplace_back(std::make_shared<Cohort>(*this, policy, terms));
}

bool PathLock::anyone_waits() const {
  return std::ranges::any_of(contenders_, [](const auto& entry) {
    return entry.second->ownership().state() == core::Ownership::State::waiting;
  });
}

std::shared_ptr<Contender> PathLock::find(const Owner& owner) const {
  const auto found = contenders_.find(owner);
  return found == contenders_.end() ? nullptr : found->second;
}

std::map<Owner, std::shared_ptr<Contender>> PathLock::by_owner() const {
  return {contenders_.begin(), contenders_.end()};
}

void PathLock::forget(const Contender& contender) noexcept {
  const auto found = contenders_.find(contender.key());
  if (found != contenders_.end() && found->second.get() == &contender) contenders_.erase(found);
}

void PathLock::cancel_all(const void* object) {
  const Section section(*this);
  for (const auto& [owner, contender] : by_owner()) contender->leave_all(object);
}

void PathLock::fail_waiting(Errc code, const std::string& cause) {
  const Section section(*this);
  const auto contenders = contenders_;
  for (const auto& [owner, contender] : contenders) contender->fail(code, cause);
}

// After the last public object was destroyed and close() has run, unlock() is never called.
void PathLock::locked(std::shared_ptr<const Contender> contender) noexcept {
  const std::lock_guard guard(mutex_);
  if (is_used()) reentry_counter_.begin(std::move(contender));
}

bool PathLock::unlock(const Owner& owner, core::CountKind kind) {
  const bool by_lock = kind == core::CountKind::lock && owner == Owner::this_thread();
  if (by_lock && unlock_again()) return true;
  const Section section(*this);
  const auto contender = find(owner);
  if (!contender) return false;
  if (by_lock && contender->ownership().count(kind) == 1) reentry_counter_.end();
  return contender->drop(kind, LockNode::Manner::release) != core::Ownership::Dropped::refused;
}

core::Ownership PathLock::ownership(const Owner& owner) {
  const Section section(*this);
  const auto contender = find(owner);
  if (!contender || !contender->holds_validly()) return {};
  core::Ownership all = contender->ownership();
  const int more = owner == Owner::this_thread() ? reentry_counter_.count() : 0;
  for (int i = 0; i < more; ++i) all.add(core::CountKind::lock);
  return all;
}

void PathLock::attach() {
  const Section section(*this);
  ++objects_;
}

bool PathLock::detach() {
  const Section section(*this);
  if (--objects_ > 0) return false;
  sequence_hint_.end();
  for (const auto& queue : cohorts_) queue->end_idling();
  if (core_->closed()) {
    reentry_counter_.clear();
    const auto dropped = std::exchange(contenders_, {});
    later([dropped] {});  // they may hold the last references to parts of this path lock
    return false;
  }
  return std::ranges::any_of(contenders_, [](const auto& entry) {
    const core::Ownership& ownership = entry.second->ownership();
    return ownership.count(core::CountKind::lock) > 0 ||
           ownership.count(core::CountKind::shared_lock) > 0;
  });
}

bool PathLock::record_own_node(core::Sequence number, FencingToken token, SessionId session) {
  if (std::exchange(newest_session_, session) != session) {
    newest_ = gone_ = {};  // the ensemble may have been emptied: its czxids begin again
    sequence_hint_.forget();
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
  for (const auto& [owner, contender] : by_owner()) contender->on_path_recreated();
  for (const auto& queue : cohorts_) queue->on_path_recreated();
  return true;
}

void PathLock::counter_is_at(core::Sequence number) {
  const bool has_ended = !core::is_usable(number);
  if (has_ended == counter_has_ended_) return;
  core_->counter_has_ended(path_, has_ended);
  counter_has_ended_ = has_ended;
}

void PathLock::path_seen(const client::Reply& stat) {
  if (stat.status != core::Status::ok) return;
  counter_is_at(stat.next);
  trust_.seen({stat.token, stat.acl_version}, stat.sent_at);
}

void PathLock::announcement_awaited(SessionId session) noexcept {
  if (!trust_.wants_acl(core_->scheduler().now())) return;
  try {
    core_->coordinator().submit(
        {.operation = client::request::GetAcl{path_.str()}, .session = session},
        [weak = weak_from_this()](const client::Reply& reply) {
          const auto path_lock = weak.lock();
          if (!path_lock) return;
          const Section section(*path_lock);
          path_lock->acl_answered(reply);
        });
  } catch (const std::exception&) {  // no memory: until the ACL is read, the children are listed
    trust_.acl_not_read();
  }
}

void PathLock::acl_answered(const client::Reply& reply) {
  if (reply.status == core::Status::ok) {
    trust_.acl_read({reply.token, reply.acl_version}, reply.last_child, reply.acl, reply.sent_at);
  } else if (reply.status == core::Status::no_auth) {
    trust_.acl_refused(reply.sent_at);
  } else {
    trust_.acl_not_read();
  }
}

std::shared_ptr<Contender> PathLock::first_on_behalf_of(const Owner& owner) const {
  std::shared_ptr<Contender> first;
  for (const auto& [key, contender] : contenders_) {
    if (contender->owner() == owner && (!first || key < first->key())) first = contender;
  }
  return first;
}

PathLock::Standing PathLock::standing_of(const Owner& owner) {
  const Section section(*this);
  auto contender = find(owner);
  if (!contender) contender = first_on_behalf_of(owner);
  if (!contender) return {};
  return {contender->lock_node().own_name(), contender->before_it()};
}

std::vector<std::string> PathLock::nodes() {
  const Section section(*this);
  return nodes_in_section();
}

std::vector<std::string> PathLock::nodes_in_section() const {
  std::vector<std::string> names;
  for (const auto& [owner, contender] : contenders_) {
    std::ranges::move(contender->lock_node().own_names(), std::back_inserter(names));
  }
  for (const auto& queue : cohorts_) {
    if (const auto idle = queue->idle_node()) names.push_back(idle->own_name());
  }
  return names;
}

void PathLock::close() {
  const Section section(*this);
  create_limiter_.close();
  local_handoff_.clear();
  for (const auto& queue : cohorts_) queue->close();
  for (const auto& [owner, contender] : by_owner()) {
    contender->close();
    if (contender->ownership().count() == 0) forget(*contender);
  }
  if (objects_ > 0) return;
  reentry_counter_.clear();  // without a public object, there is no unlock()
  contenders_.clear();
}

void PathLock::thread_exits(Owner owner) noexcept {
  if (core_->forked()) return;
  bool dropped = false;
  {
    const Section section(*this);
    reentry_counter_.end();
    const auto contender = find(owner);
    if (!contender) return;
    // Plainly, because the work is unfinished. Exclusive counts are last: nothing is downgraded.
    for (const auto kind : {core::CountKind::shared_lock, core::CountKind::lock}) {
      while (contender->drop(kind, LockNode::Manner::plainly) !=
             core::Ownership::Dropped::refused) {
        dropped = true;
      }
    }
  }
  if (dropped) core_->warn("lock " + path_.str() + ": a thread ended without unlocking it");
}

}  // namespace zklock::detail
