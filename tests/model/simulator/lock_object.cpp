// SPDX-License-Identifier: Apache-2.0
#include "tests/model/simulator/lock_object.h"

#include <chrono>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "tests/model/simulator/scribe.h"

namespace zklock::simulator {

namespace {

using std::chrono::milliseconds;

std::optional<milliseconds> if_any(int length) {
  return length == 0 ? std::nullopt : std::optional(milliseconds(length));
}

/// Sets the options that MutexOptions and QuorumOptions share.
template <class Options>
Options shared_options_of(const ObjectPlan& plan, LockListener listener) {
  Options options;
  options.on_node_lost = plan.fails_on_loss != 0 ? OnNodeLost::fail : OnNodeLost::queue_again;
  if (plan.listens != 0) options.listener = std::move(listener);
  options.max_hold = if_any(plan.max_hold);
  options.lock_delay = milliseconds(plan.lock_delay);
  return options;
}

MutexOptions options_of(const ObjectPlan& plan, LockListener listener) {
  auto options = shared_options_of<MutexOptions>(plan, std::move(listener));
  options.max_local_handoffs = plan.batch;
  options.keep_idle_for = milliseconds(plan.keep_idle_for);
  return options;
}

}  // namespace

LockObject::Made LockObject::make(SimProcess& process, const ObjectPlan& plan,
                                  LockListener listener) {
  Client& client = process.client();
  const std::string path = path_of(plan.path);
  if (plan.kind == LockClass::quorum) {
    QuorumMutex::Clients clients;
    for (auto& line : process.lines()) clients.emplace_back(*line->client);
    return std::make_unique<QuorumMutex>(
        clients, path, shared_options_of<QuorumOptions>(plan, std::move(listener)));
  }
  MutexOptions options = options_of(plan, std::move(listener));
  switch (plan.kind) {
    case LockClass::mutex: return std::make_unique<Mutex>(client, path, options);
    case LockClass::shared: return std::make_unique<SharedMutex>(client, path, options);
    case LockClass::semaphore:
      return std::make_unique<Semaphore>(client, path, plan.number, options);
    case LockClass::counted:
      return std::make_unique<Semaphore>(client, path, SharedCount{plan.number}, options);
    case LockClass::multi:
      return std::make_unique<MultiMutex>(client, std::vector{path_of(0), path_of(1)}, options);
    case LockClass::priority:
      return std::make_unique<PriorityMutex>(
          client, path, PriorityOptions{.weight = plan.number, .mutex = options});
    case LockClass::reentrant:
    case LockClass::quorum:
    case LockClass::latch:
    case LockClass::election:
    case LockClass::observer:
    case LockClass::election_observer: break;
  }
  return std::make_unique<ReentrantMutex>(client, path, options);
}

LockObject::LockObject(SimProcess& process, const ObjectPlan& plan, LockListener listener)
    : made_(make(process, plan, std::move(listener))) {}

void LockObject::acquire(const PlanStep& step, AcquireOptions options,
                         std::function<void(Got)> handler) {
  const AcquireHandler simple = [handler](Hold hold, std::exception_ptr error) {
    handler({.hold = std::move(hold), .error = std::move(error)});
  };
  const CompositeHandler composite = [handler](CompositeHold hold, std::exception_ptr error) {
    handler({.composite = std::move(hold), .error = std::move(error)});
  };
  std::visit(
      model::Overloaded{
          [&](std::unique_ptr<SharedMutex>& m) {
            if (step.reads != 0) {
              m->async_acquire_shared(std::move(options), simple);
            } else {
              m->async_acquire(std::move(options), simple);
            }
          },
          [&](std::unique_ptr<Semaphore>& m) {
            m->async_acquire(step.number, std::move(options), simple);
          },
          [&](std::unique_ptr<PriorityMutex>& m) {
            m->async_acquire(std::move(options), simple, step.number);
          },
          [&](std::unique_ptr<MultiMutex>& m) { m->async_acquire(std::move(options), composite); },
          [&](std::unique_ptr<QuorumMutex>& m) { m->async_acquire(std::move(options), composite); },
          [&](auto& m) { m->async_acquire(std::move(options), simple); },
      },
      made_);
}

}  // namespace zklock::simulator
