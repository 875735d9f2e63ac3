// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <cstddef>
#include <functional>
#include <memory>
#include <utility>
#include <vector>

#include "tests/model/client_factory.h"
#include "zklock/client.h"
#include "zklock/client/port/dispatcher.h"
#include "zklock/client/port/scheduler.h"
#include "zklock/engine/client_core.h"

namespace zklock::model {

/// Time passes only when the test adds it. An overdue task runs immediately.
///
/// Thread-safety: none.
class ManualTime final : public client::Scheduler {
 public:
  core::Instant now() const noexcept override {
    const core::Instant read = now_;
    now_ += std::exchange(step_, {});
    return read;
  }
  client::TimerId at(core::Instant when, std::function<void()> task) override {
    due_.push_back(when);
    if (when <= now_) task();
    return client::TimerId{due_.size()};
  }
  void cancel(client::TimerId timer) noexcept override {
    if (timer != client::TimerId{}) ++cancelled_;
  }

  void pass(core::Duration duration) { now_ += duration; }
  void pass_after_next_reading(core::Duration duration) { step_ = duration; }
  const std::vector<core::Instant>& due() const noexcept { return due_; }
  std::size_t cancelled() const noexcept { return cancelled_; }  ///< number of cancelled timers

 private:
  mutable core::Instant now_{std::chrono::hours(1)};
  mutable core::Duration step_{};
  std::vector<core::Instant> due_;
  std::size_t cancelled_ = 0;
};

/// A dispatcher that drops every task.
class NoThreads final : public client::Dispatcher {
 public:
  bool post(std::function<void()> /*task*/) override { return false; }
};

/// Returns a client with these two ports. Its dispatchers accept no task.
inline std::unique_ptr<Client> make_client(std::shared_ptr<client::Coordinator> servers,
                                           std::shared_ptr<ManualTime> time) {
  return detail::ClientFactory::make(
      detail::ClientCore::make({.coordinator = std::move(servers),
                                .scheduler = std::move(time),
                                .dispatcher = std::make_shared<NoThreads>(),
                                .loss_dispatcher = std::make_shared<NoThreads>()},
                               {.hosts = "nowhere", .application = "test", .host = "host"}));
}

}  // namespace zklock::model
