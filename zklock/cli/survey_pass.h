// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>
#include <stop_token>
#include <string>

#include "zklock/cli/core/snapshot.h"
#include "zklock/client.h"
#include "zklock/survey.h"

namespace zklock::cli {

/// Receives what was read until now.
using OnProgress = std::function<void(const Snapshot&)>;

/// Reads all locks at and below a root, and searches them for cycles. Reads the paths of each
/// certain cycle a second time: see confirmed_cycles(). The rate limit is that of all reads
/// together.
///
/// Calls `on_progress` about every ten seconds. After a stop of the token, the pause between two
/// paths ends at once. To end a pass that waits for a reply, close the client.
/// Throws: Error, as Survey does.
Snapshot read_snapshot(Client& client, const std::string& root, const SurveyOptions& options,
                       const std::stop_token& stop = {}, const OnProgress& on_progress = {});

}  // namespace zklock::cli
