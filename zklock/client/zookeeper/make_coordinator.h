// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>

#include "zklock/client/port/coordinator.h"
#include "zklock/client/port/log.h"
#include "zklock/client_options.h"

namespace zklock::client {

/// Checks the options that concern the connection. Throws Error if an option is invalid.
void validate(const ClientOptions& options);

/// Returns the log that the options describe.
std::shared_ptr<Log> make_log(const ClientOptions& options);

/// Returns a coordinator on the ZooKeeper C client. `log`: by default, a log of its own. REQUIRES:
/// validate() accepts the options, and close() is called before the last owner releases it.
std::shared_ptr<Coordinator> make_zookeeper_coordinator(const ClientOptions& options,
                                                        std::shared_ptr<Log> log = nullptr);

}  // namespace zklock::client
