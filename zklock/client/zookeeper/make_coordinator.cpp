// SPDX-License-Identifier: Apache-2.0
#include "zklock/client/zookeeper/make_coordinator.h"

#include <utility>

#include "zklock/client/zookeeper/zk_coordinator.h"

namespace zklock::client {

std::shared_ptr<CallbackThreads> make_log_thread() {
  return std::make_shared<CallbackThreads>(
      nullptr, CallbackThreadsOptions{.name = "zklock-log", .max_threads = 1, .keeps_one = true});
}

std::shared_ptr<Log> make_log(const ClientOptions& options, std::shared_ptr<Dispatcher> thread) {
  return std::make_shared<Log>(options.logger, options.log_sink, options.log_level,
                               std::move(thread));
}

std::shared_ptr<Coordinator> make_zookeeper_coordinator(const ClientOptions& options,
                                                        std::shared_ptr<Log> log) {
  return std::make_shared<ZkCoordinator>(options, std::move(log));
}

}  // namespace zklock::client
