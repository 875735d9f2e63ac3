// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <stop_token>
#include <string>

#include "zklock/cli/core/snapshot.h"
#include "zklock/client.h"
#include "zklock/survey.h"

namespace zklock::cli {

/// Reads all locks at and below a root, and searches them for cycles. Reads the paths of each
/// certain cycle a second time: see confirmed_cycles(). With a stop token, waits for a connection as
/// long as it takes. If the token is stopped, returns within about a second, with an incomplete
/// snapshot.
/// Throws: Error, as Survey does.
Snapshot read_snapshot(Client& client, const std::string& root, const SurveyOptions& options,
                       const std::stop_token& stop = {});

}  // namespace zklock::cli
