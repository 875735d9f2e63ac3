// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>

#include "zklock/client/port/coordinator.h"
#include "zklock/client/port/log.h"
#include "zklock/client/threads/callback_threads.h"
#include "zklock/client_options.h"

namespace zklock::client {

/// Returns the thread of a log. Throws std::system_error if the system provides none.
std::shared_ptr<CallbackThreads> make_log_thread();

/// Returns the log that the options describe. `thread` writes its lines.
std::shared_ptr<Log> make_log(const ClientOptions& options, std::shared_ptr<Dispatcher> thread);

/// Returns a coordinator on the ZooKeeper C client. REQUIRES: check_client_options() accepts the
/// options, and close() is called before the last owner releases it.
std::shared_ptr<Coordinator> make_zookeeper_coordinator(const ClientOptions& options,
                                                        std::shared_ptr<Log> log);

}  // namespace zklock::client
