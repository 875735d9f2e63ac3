// SPDX-License-Identifier: Apache-2.0
// The ports of a client: they enqueue commands for the simulated coordinator and the virtual clock.
#include <exception>
#include <string>
#include <unordered_map>
#include <unordered_set>

#include "zklock/testing/fake/fake_world.h"

namespace zklock::testing::detail {

namespace {

using client::Request;
using client::RequestId;
using client::TimerId;
using UniversePtr = std::shared_ptr<Universe>;

FakeWorld& fake() {
  return FakeWorld::instance();
}

/// Enqueues a command that has no answer.
void enqueue(const UniversePtr& universe, FakeWorld::Command command) {
  fake().enqueue(universe, [&] { return std::pair(true, std::move(command)); });
}

/// Thread-safety: all members, from any thread.
class CoordinatorPort final : public client::Coordinator {
 public:
  CoordinatorPort(UniversePtr universe, FakeClient& client)
      : universe_(std::move(universe)), client_(client) {}

  void start(client::SessionObserver& observer) override {
    enqueue(universe_, [&client = client_, &observer] {
      client.started = true;
      client.coordinator.start(observer);
      client.update();
    });
  }
  RequestId submit(Request request, client::ReplyHandler handler) override {
    return fake().enqueue(universe_, [&] {
      const RequestId id{++last_id_};
      return std::pair(id, FakeWorld::Command([&client = client_, id, sent = std::move(request),
                                               answer = std::move(handler)] {
                         // The simulation must assign the id that was returned here.
                         if (client.coordinator.submit(sent, answer) != id) std::terminate();
                       }));
    });
  }
  bool cancel_unsent(RequestId request) noexcept override {
    enqueue(universe_, [&client = client_, request] { client.coordinator.cancel_unsent(request); });
    return false;  // unknown here; the reply shows it
  }
  void unwatch(RequestId get_and_watch) noexcept override {
    enqueue(universe_,
            [&client = client_, get_and_watch] { client.coordinator.unwatch(get_and_watch); });
  }
  void close() override {
    fake().with(universe_, [this] {
      client_.closed = true;
      client_.coordinator.resume();  // if the process was paused
      client_.coordinator.close();
      while (client_.coordinator.can_receive()) client_.coordinator.receive();
    });
    fake().wake();
  }
  bool is_own_thread() const noexcept override { return fake().is_inside(); }
  // Called with mutexes of the client held, so it must not wait for the SimulationLock.
  std::string connection_problem() const override { return client_.problem.load(); }

 private:
  const UniversePtr universe_;
  FakeClient& client_;
  std::uint64_t last_id_ = 0;  // used by the functions that enqueue() calls
};

/// The timers of one client. The commands and the simulated timers share it.
class FakeTimers {
 public:
  explicit FakeTimers(FakeClient& client) : client_(client) {}

  TimerId make() {
    const client::MutexLock guard(mutex_);
    const TimerId id{++last_id_};
    pending_.insert(id);
    return id;
  }
  /// Returns false if the timer has run, or was cancelled before.
  bool cancel(TimerId timer) noexcept {
    const client::MutexLock guard(mutex_);
    return pending_.erase(timer) > 0;
  }

  // REQUIRES: the thread has the SimulationLock.
  void set(TimerId id, core::Instant when, const std::function<void()>& task,
           const std::shared_ptr<FakeTimers>& self) {
    if (stopped_) return;
    simulated_[id] = client_.clock.at(when, [self, id, task] {
      self->simulated_.erase(id);
      if (self->cancel(id)) task();
    });
  }
  void drop(TimerId timer) {
    const auto found = simulated_.find(timer);
    if (found == simulated_.end()) return;
    client_.clock.cancel(found->second);
    simulated_.erase(found);
  }
  void stop() {
    stopped_ = true;
    while (!simulated_.empty()) drop(simulated_.begin()->first);
  }

 private:
  FakeClient& client_;
  client::Mutex mutex_;
  std::uint64_t last_id_ ZKLOCK_GUARDED_BY(mutex_) = 0;
  std::unordered_set<TimerId> pending_ ZKLOCK_GUARDED_BY(mutex_);
  // Used with the SimulationLock.
  bool stopped_ = false;
  std::unordered_map<TimerId, TimerId> simulated_;
};

/// Thread-safety: all members, from any thread.
class SchedulerPort final : public client::Scheduler {
 public:
  SchedulerPort(UniversePtr universe, FakeClient& client)
      : universe_(std::move(universe)), timers_(std::make_shared<FakeTimers>(client)) {}

  core::Instant now() const noexcept override { return fake().now(); }
  TimerId at(core::Instant when, std::function<void()> task) override {
    const TimerId id = timers_->make();
    enqueue(universe_, [timers = timers_, id, when, task = std::move(task)] {
      timers->set(id, when, task, timers);
    });
    return id;
  }
  void cancel(TimerId timer) noexcept override {
    if (!timers_->cancel(timer)) return;
    enqueue(universe_, [timers = timers_, timer] { timers->drop(timer); });
  }
  void stop() noexcept override {
    fake().with(universe_, [this] { timers_->stop(); });
  }

 private:
  const UniversePtr universe_;
  const std::shared_ptr<FakeTimers> timers_;
};

}  // namespace

client::TestSeam::Connection FakeWorld::make_ports(const UniversePtr& universe,
                                                   FakeClient& client) {
  auto coordinator = std::make_shared<CoordinatorPort>(universe, client);
  client.port = coordinator.get();
  return {std::move(coordinator), std::make_shared<SchedulerPort>(universe, client)};
}

}  // namespace zklock::testing::detail
