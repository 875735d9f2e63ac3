// SPDX-License-Identifier: Apache-2.0
#include "zklock/engine/client_core.h"

#include <cerrno>
#include <cstddef>
#include <memory>
#include <new>
#include <system_error>
#include <utility>

#include <gtest/gtest.h>

#include "fact.h"
#include "support/drained_log.h"
#include "zklock/client/threads/callback_threads.h"
#include "zklock/client/threads/timer_thread.h"
#include "zklock/client/zookeeper/make_coordinator.h"
#include "zklock/engine/path_lock.h"
#include "zklock/testing/servers/wait_for.h"

namespace zklock::detail {
namespace {

using testing::eventually;
using testing::Fact;

// Reports when all parts of a client are destroyed: `destroyed` is released last.
Ports ports(std::shared_ptr<void> destroyed) {
  ClientOptions options;
  options.hosts = "127.0.0.1:1";  // no server listens there
  const auto timers = std::make_shared<client::TimerThread>();
  const auto callbacks = std::make_shared<client::CallbackThreads>(nullptr);
  auto log = std::make_shared<client::DrainedLog>(options);
  auto coordinator = client::make_zookeeper_coordinator(options, **log);
  client::Coordinator* const address = coordinator.get();
  return {.coordinator = std::shared_ptr<client::Coordinator>(
              address,
              [log = std::move(log), coordinator = std::move(coordinator),
               destroyed = std::move(destroyed)](client::Coordinator* /*address*/) mutable {
                coordinator.reset();
                log.reset();
                destroyed.reset();
              }),
          .scheduler = timers,
          .dispatcher = callbacks,
          .loss_dispatcher = callbacks,
          .stop_threads =
              [timers, callbacks] {
                timers->stop();
                callbacks->drain_for(std::chrono::minutes(1));
              },
          .in_callback = [callbacks] { return callbacks->runs_here(); }};
}

// A thread was stopped in unlock() while other threads closed the client and released it. That
// thread then sends its request, and releases the path lock. The reply is the last user of the path
// lock and of the client.
TEST(ClientCore, LateReply_CanBeTheLastUser) {
  const Fact<> destroyed;
  auto core = ClientCore::make(
      ports(std::shared_ptr<void>(nullptr, [destroyed](void*) { destroyed.is_known(); })), {});
  auto path_lock = core->path_lock(core::LockPath("/lock"));
  core->close();
  auto busy = std::make_unique<EngineLock>(path_lock->entry());  // blocks the reply
  core->coordinator().submit({.operation = client::request::Check{"/"}},
                             [weak = std::weak_ptr(path_lock)](const client::Reply&) {
                               if (const auto found = weak.lock()) found->check_clocks();
                             });
  core.reset();
  ASSERT_TRUE(eventually([&] { return path_lock.use_count() == 2; }));
  path_lock.reset();
  busy.reset();
  EXPECT_NO_THROW(destroyed.get());
}

/// Calls `task` when an EngineLock has ended, and then another task. Returns whether that one has
/// run.
bool runs_after(const Outbox::Task& task) {
  const auto core = ClientCore::make(ports(nullptr), {});
  const auto path_lock = core->path_lock(core::LockPath("/lock"));
  bool has_run = false;
  {
    const EngineLock lock(path_lock->entry());
    path_lock->after_unlock(task);
    path_lock->after_unlock([&has_run] { has_run = true; });
  }
  core->close();
  return has_run;
}

TEST(ClientCore, NoMemoryUnderTheMutex_ProcessTerminates) {
  const auto core = ClientCore::make(ports(nullptr), {});
  const auto path_lock = core->path_lock(core::LockPath("/lock"));
  const auto runs_out = [&] {
    try {
      const EngineLock lock(path_lock->entry());
      throw std::bad_alloc();
    } catch (const std::bad_alloc&) {
    }
  };
  EXPECT_DEATH(runs_out(), "terminate");
  core->close();
}

TEST(ClientCore, NoMemoryAfterUnlock_ProcessTerminates) {
  EXPECT_DEATH(runs_after([] { throw std::bad_alloc(); }), "bad_alloc");
}

}  // namespace
}  // namespace zklock::detail
