// SPDX-License-Identifier: Apache-2.0
#include "tests/model/simulator/lock_object.h"

#include <chrono>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "tests/model/simulator/history_writer.h"

namespace zklock::simulator {

namespace {

using std::chrono::milliseconds;

std::optional<milliseconds> if_any(int length) {
  return length == 0 ? std::nullopt : std::optional(milliseconds(length));
}

/// Returns the options of a class. Options that the class does not have are left out.
template <class Options>
Options options_of(const ObjectPlan& plan, const LockListener& listener) {
  Options options;
  options.on_node_lost = plan.fails_on_loss != 0 ? OnNodeLost::fail : OnNodeLost::queue_again;
  if (plan.listens != 0) options.listener = listener;
  options.max_hold = if_any(plan.max_hold);
  if constexpr (requires { options.lock_delay; }) {
    options.lock_delay = milliseconds(plan.lock_delay);
  }
  if constexpr (requires { options.max_local_handoffs; }) {
    options.max_local_handoffs = plan.batch;
    options.keep_idle_for = milliseconds(plan.keep_idle_for);
  }
  return options;
}

LockPart part_of(const ObjectPlan& multi, int path) {
  const PartKind kind = part_kind(multi, path);
  switch (kind.access) {
    case Access::shared: return LockPart::reader(path_of(path));
    case Access::permits: return LockPart::permits(path_of(path), kind.permits, kPermitsOfPart);
    case Access::exclusive:
    case Access::weighted: break;
  }
  return kind.is_writer ? LockPart::writer(path_of(path)) : LockPart::mutex(path_of(path));
}

}  // namespace

LockObject::Made LockObject::make(SimProcess& process, const ObjectPlan& plan,
                                  const LockListener& listener) {
  Client& client = process.client();
  const std::string path = path_of(plan.path);
  if (plan.kind == LockClass::quorum) {
    QuorumMutex::Clients clients;
    for (auto& line : process.lines()) clients.emplace_back(*line->client);
    return std::make_unique<QuorumMutex>(clients, path, options_of<QuorumOptions>(plan, listener));
  }
  const auto exclusive = options_of<ExclusiveOptions>(plan, listener);
  const auto cohort = options_of<CohortOptions>(plan, listener);
  const auto common = options_of<LockOptions>(plan, listener);
  switch (plan.kind) {
    case LockClass::mutex: return std::make_unique<Mutex>(client, path, cohort);
    case LockClass::shared: return std::make_unique<SharedMutex>(client, path, exclusive);
    case LockClass::semaphore:
      return std::make_unique<Semaphore>(client, path, plan.number, common);
    case LockClass::counted:
      return std::make_unique<Semaphore>(client, path, SharedCount{plan.number}, common);
    case LockClass::multi: {
      const std::vector<LockPart> parts{part_of(plan, 0), part_of(plan, 1)};
      return std::make_unique<MultiMutex>(client, parts, exclusive);
    }
    case LockClass::priority: {
      auto weighted = options_of<PriorityOptions>(plan, listener);
      weighted.weight = plan.number;
      return std::make_unique<PriorityMutex>(client, path, weighted);
    }
    case LockClass::reentrant:
    case LockClass::quorum:
    case LockClass::latch:
    case LockClass::election:
    case LockClass::observer:
    case LockClass::election_observer: break;
  }
  return std::make_unique<ReentrantMutex>(client, path, cohort);
}

LockObject::LockObject(SimProcess& process, const ObjectPlan& plan, const LockListener& listener)
    : made_(make(process, plan, listener)) {}

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
            m->async_acquire(std::move(options), step.number, simple);
          },
          [&](std::unique_ptr<PriorityMutex>& m) {
            m->async_acquire(std::move(options), step.number, simple);
          },
          [&](std::unique_ptr<MultiMutex>& m) { m->async_acquire(std::move(options), composite); },
          [&](std::unique_ptr<QuorumMutex>& m) { m->async_acquire(std::move(options), composite); },
          [&](auto& m) { m->async_acquire(std::move(options), simple); },
      },
      made_);
}

}  // namespace zklock::simulator
