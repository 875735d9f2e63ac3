// SPDX-License-Identifier: Apache-2.0
#include "conformance/suite/live_world.h"

#include <chrono>
#include <stdexcept>
#include <utility>

namespace zklock::testing {

using client::Request;
using client::RequestId;
using client::TimerId;

// ---- sections -----------------------------------------------------------------------------------

LiveWorld::Section::Section(LiveWorld& live)
    : live_(live), lock_(live.world_mutex_), outermost_(!live.is_inside()) {
  if (!outermost_) return;
  live_.inside_ = std::this_thread::get_id();
  live_.settle();
}

LiveWorld::Section::~Section() {
  if (!outermost_) return;
  live_.settle();
  live_.inside_ = std::thread::id();
}

template <class Make>
auto LiveWorld::run(Make make) {
  std::unique_lock lock(mutex_);
  auto [answer, command] = make();
  inbox_.push_back(std::move(command));
  lock.unlock();
  if (is_inside()) {
    take_inbox();
  } else {
    posted_.notify_one();
  }
  return answer;
}

void LiveWorld::take_inbox() {
  for (;;) {
    std::function<void()> command;
    {
      const std::lock_guard guard(mutex_);
      if (inbox_.empty()) return;
      command = std::move(inbox_.front());
      inbox_.pop_front();
    }
    command();
  }
}

void LiveWorld::settle() {
  do take_inbox();
  while (world_.run_all() > 0);
  now_ = world_.now().time_since_epoch().count();
}

void LiveWorld::live() {
  for (;;) {
    {
      std::unique_lock lock(mutex_);
      posted_.wait(lock, [this] { return stopped_ || !inbox_.empty(); });
      if (stopped_) return;
    }
    const Section section(*this);
  }
}

core::Instant LiveWorld::now() const noexcept {
  if (is_inside()) return world_.now();
  return core::Instant(core::Duration(now_.load()));
}

void LiveWorld::pass(core::Duration duration) {
  const Section section(*this);
  world_.run_for(duration);
}

// ---- ports --------------------------------------------------------------------------------------

class LiveWorld::CoordinatorPort final : public client::Coordinator {
 public:
  CoordinatorPort(LiveWorld& live, std::size_t client)
      : live_(live), inner_(live.world_.client(client)) {}

  void start(client::SessionObserver& observer) override {
    const Section section(live_);
    inner_.start(observer);
  }

  RequestId submit(Request request, client::ReplyHandler handler) override {
    return live_.run([&] {
      const RequestId id{++last_id_};
      return std::pair(id, std::function<void()>([this, id, submitted = std::move(request),
                                                  answer = std::move(handler)] {
                         // The simulation must assign the id that was returned here.
                         if (inner_.submit(submitted, answer) != id) std::terminate();
                       }));
    });
  }
  void post(std::function<void()> task) override {
    live_.run([&] {
      return std::pair(
          0, std::function<void()>([this, task = std::move(task)] { inner_.post(task); }));
    });
  }
  bool cancel_unsent(RequestId request) noexcept override {
    live_.run([&] {
      return std::pair(0,
                       std::function<void()>([this, request] { inner_.cancel_unsent(request); }));
    });
    return false;  // unknown here; the reply shows it
  }
  void unwatch(RequestId get_and_watch) noexcept override {
    live_.run([&] {
      return std::pair(
          0, std::function<void()>([this, get_and_watch] { inner_.unwatch(get_and_watch); }));
    });
  }
  void close() override {
    const Section section(live_);
    inner_.close();
  }
  // Called when an error is built, with the client's locks held, so it must not wait for a Section.
  std::string connection_problem() const override {
    return live_.is_inside() ? inner_.connection_problem() : "simulated";
  }

 private:
  LiveWorld& live_;
  model::SimCoordinator& inner_;
  std::uint64_t last_id_ = 0;  // guarded by the inbox's mutex
};

class LiveWorld::SchedulerPort final : public client::Scheduler {
 public:
  SchedulerPort(LiveWorld& live, std::size_t client)
      : live_(live), inner_(live.world_.scheduler(client)) {}

  core::Instant now() const noexcept override { return live_.now(); }
  TimerId at(core::Instant when, std::function<void()> task) override {
    return live_.run([&] {
      const TimerId id{++last_id_};
      return std::pair(id, std::function<void()>([this, id, when, due = std::move(task)] {
                         timers_[id] = inner_.at(when, [this, id, due] {
                           timers_.erase(id);
                           due();
                         });
                       }));
    });
  }
  void cancel(TimerId timer) noexcept override {
    live_.run([&] {
      return std::pair(0, std::function<void()>([this, timer] {
                         const auto found = timers_.find(timer);
                         if (found == timers_.end()) return;
                         inner_.cancel(found->second);
                         timers_.erase(found);
                       }));
    });
  }

 private:
  LiveWorld& live_;
  client::Scheduler& inner_;
  std::uint64_t last_id_ = 0;                    // guarded by the inbox's mutex
  std::unordered_map<TimerId, TimerId> timers_;  // used only in a Section
};

class LiveWorld::DispatcherPort final : public client::Dispatcher {
 public:
  DispatcherPort(LiveWorld& live, std::size_t client)
      : live_(live), inner_(live.world_.dispatcher(client)) {}

  bool post(std::function<void()> task) override {
    return live_.run([&] {
      return std::pair(
          true, std::function<void()>([this, work = std::move(task)] { inner_.post(work); }));
    });
  }

 private:
  LiveWorld& live_;
  model::SimDispatcher& inner_;
};

LiveWorld::LiveWorld(std::size_t clients, model::ClientOptions options)
    : world_(clients, options), now_(world_.now().time_since_epoch().count()) {
  thread_ = std::thread([this] { live(); });
}

LiveWorld::~LiveWorld() {
  {
    const std::lock_guard guard(mutex_);
    stopped_ = true;
  }
  posted_.notify_one();
  thread_.join();
}

detail::Ports LiveWorld::ports(std::size_t client) {
  const auto dispatcher = std::make_shared<DispatcherPort>(*this, client);
  return {.coordinator = std::make_shared<CoordinatorPort>(*this, client),
          .scheduler = std::make_shared<SchedulerPort>(*this, client),
          .dispatcher = dispatcher,
          .losses = dispatcher,
          .finish_losses = [this](detail::BackgroundWork&) { const Section section(*this); },
          .in_callback = [this] { return is_inside(); }};
}

}  // namespace zklock::testing
