// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <optional>
#include <stop_token>
#include <string>

#include "zklock/cli/command.h"
#include "zklock/cli/core/snapshot.h"
#include "zklock/client.h"
#include "zklock/survey.h"

namespace zklock::cli {

/// How many waiting contenders of a lock `top` and the page describe.
inline constexpr std::size_t kMostShownWaiting = 100;
/// How many contenders a pass describes before it describes only two of each further lock. This
/// bounds the memory of many long queues.
inline constexpr std::size_t kMostContenders = 100'000;

/// Reads all locks at and below a root, and searches them for cycles. Reads the paths of each
/// certain cycle a second time: see confirmed_cycles(). The rate limit is that of all reads
/// together.
/// After a stop of the token, the pause between two paths ends at once. To end a pass that waits
/// for a reply, close the client. Throws: Error, as Survey does.
Snapshot read_snapshot(Client& client, const std::string& root, const SurveyOptions& options,
                       const std::stop_token& stop = {});
/// Does the same for a command. If that takes long, says on the standard error output how far it
/// is, unless -q is given.
Snapshot read_snapshot(const Invocation& invocation, Client& client, const std::string& root,
                       const SurveyOptions& options);

/// Reads one lock. Returns std::nullopt if there is none. Throws: Error; Failure if the path is not
/// readable.
std::optional<SurveyedLock> read_lock(Client& client, const std::string& path,
                                      std::size_t max_holders, std::size_t max_waiting);

/// Throws: Failure if the root of the snapshot does not exist, or is not readable.
void check_root(const Snapshot& snapshot);
/// Says on the standard error output how many paths the snapshot lacks, if any.
void report_unread(const Invocation& invocation, const Snapshot& snapshot);

}  // namespace zklock::cli
