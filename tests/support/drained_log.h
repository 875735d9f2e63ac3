// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <memory>

#include "zklock/client/port/log.h"
#include "zklock/client/threads/callback_threads.h"
#include "zklock/client/zookeeper/make_coordinator.h"
#include "zklock/client_options.h"

namespace zklock::client {

/// A log with a thread of its own, for a coordinator without a client. The destructor blocks until
/// all lines are written. REQUIRES: the coordinator is closed before it.
class DrainedLog {
 public:
  explicit DrainedLog(const ClientOptions& options) : log_(make_log(options, thread_)) {}
  DrainedLog(const DrainedLog&) = delete;
  DrainedLog& operator=(const DrainedLog&) = delete;
  ~DrainedLog() { thread_->drain_for(std::chrono::minutes(1)); }

  const std::shared_ptr<Log>& operator*() const noexcept { return log_; }

 private:
  const std::shared_ptr<CallbackThreads> thread_ = make_log_thread();
  const std::shared_ptr<Log> log_;
};

}  // namespace zklock::client
