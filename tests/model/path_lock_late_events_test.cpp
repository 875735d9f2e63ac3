// SPDX-License-Identifier: Apache-2.0
// A watch event after its watch was removed, and a callback after the path lock was destroyed. The
// port allows both.
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include <gtest/gtest.h>

#include "tests/model/lock_world.h"
#include "zklock/engine/client_core.h"
#include "zklock/engine/contender.h"
#include "zklock/engine/path_lock.h"
#include "zklock/testing/simulation/world.h"

namespace zklock::model {
namespace {

constexpr const char* kPath = "/locks/a";

/// Passes all calls on, and stores the first event handler of every path.
class Eavesdropper final : public client::Coordinator {
 public:
  explicit Eavesdropper(SimCoordinator& port) : port_(port) {}
  using OnEvent = std::function<void(SessionId, WatchEvent)>;
  const OnEvent& first_handler(const std::string& node) const { return handlers_.at(node); }

  void start(client::SessionObserver& observer) override { port_.start(observer); }
  RequestId submit(client::Request request, client::ReplyHandler handler) override {
    if (const auto* watch = std::get_if<client::request::GetAndWatch>(&request.operation)) {
      handlers_.try_emplace(watch->path, watch->on_event);
    }
    return port_.submit(std::move(request), std::move(handler));
  }
  bool cancel_unsent(RequestId request) noexcept override { return port_.cancel_unsent(request); }
  void unwatch(RequestId watch) noexcept override { port_.unwatch(watch); }
  void close() override { port_.close(); }
  std::string connection_problem() const override { return port_.connection_problem(); }

 private:
  SimCoordinator& port_;
  std::map<std::string, OnEvent> handlers_;
};

template <class T>
std::shared_ptr<T> borrowed(T& object) {
  return {std::shared_ptr<void>(), &object};
}

TEST(PathLockLateEvents, WatchRemoved_LateEventIsIgnored) {
  World world;
  SimEnsemble& ensemble = world.ensemble();
  Eavesdropper port(world.client(0));
  const auto core = detail::ClientCore::make(
      {.coordinator = borrowed<client::Coordinator>(port),
       .scheduler = borrowed<client::Scheduler>(world.scheduler(0)),
       .dispatcher = borrowed<client::Dispatcher>(world.dispatcher(0)),
       .loss_dispatcher = borrowed<client::Dispatcher>(world.dispatcher(0))},
      {.hosts = "sim", .application = "test", .host = "host", .announces = true});
  if (!world.client(0).is_connected()) world.reconnect(0);
  ensemble.create_container("/locks");
  ensemble.create_container(kPath);
  std::vector<std::string> others;
  for (int i = 0; i < 3; ++i) {
    others.push_back(kPath + ("/" + *ensemble.create_sequential(kPath, "permits-1-of-3-")));
  }
  world.run_all();

  const Owner owner = Owner::unique();
  bool granted = false;
  detail::PendingAcquire::start(
      core->path_lock(core::LockPath(kPath)),
      {.owner = owner,
       .rule = core::QueueRule::permits(2, 3, false),
       .time_limit = detail::TimeLimit::endless(),
       .done = [&](const detail::AcquireOutcome& outcome) { granted = !!outcome.contender; }},
      {});
  world.run_all();
  ASSERT_EQ(world.client(0).live_interests(), 2U) << "the two nearest";
  ASSERT_EQ(ensemble.remove(others[2]), Status::ok);
  world.run_all();
  ASSERT_EQ(world.client(0).live_interests(), 2U) << "the middle one for the second time";

  world.client(0).reset_counts();
  port.first_handler(others[1])(world.client(0).session(), WatchEvent::changed);
  port.first_handler(others[2])(world.client(0).session(), WatchEvent::deleted);
  EXPECT_EQ(world.client(0).requests(), 0U);
  ASSERT_EQ(ensemble.remove(others[1]), Status::ok);
  world.run_all();
  EXPECT_TRUE(granted);
  EXPECT_EQ(world.client(0).live_interests(), 0U);
  core->path_lock(core::LockPath(kPath))->unlock(owner, core::CountKind::hold);
  world.run_all();
  core->close();
}

TEST(PathLockLateEvents, OwnerDestroyed_CallbackDoesNothing) {
  LockWorld lock(1);
  auto path_lock = lock.path_lock(0);
  int calls = 0;
  const auto callback = detail::under_lock(path_lock->weak_from_this(), [&calls] { ++calls; });
  callback();
  EXPECT_EQ(calls, 1);
  path_lock.reset();
  callback();
  EXPECT_EQ(calls, 1);
}

TEST(PathLockLateEvents, CallbackRetainsOwner_ItIsCalled) {
  LockWorld lock(1);
  auto path_lock = lock.path_lock(0);
  int calls = 0;
  const auto callback = detail::under_lock(path_lock->shared_from_this(), [&calls] { ++calls; });
  path_lock.reset();
  callback();
  EXPECT_EQ(calls, 1);
}

}  // namespace
}  // namespace zklock::model
