// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>

#include "zklock/client/port/coordinator.h"
#include "zklock/client_options.h"

namespace zklock::client {

/// Checks the options that concern the connection. Throws Error if an option is invalid.
void validate(const ClientOptions& options);

/// Returns a coordinator on the ZooKeeper C client. REQUIRES: validate() accepts the options.
std::unique_ptr<Coordinator> make_zookeeper_coordinator(const ClientOptions& options);

}  // namespace zklock::client
