// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "zklock/client_options.h"

namespace zklock::client {

/// Checks the options that concern the connection. Throws Error if an option is invalid.
void check_client_options(const ClientOptions& options);

}  // namespace zklock::client
