// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>
#include <memory>

#include "zklock/client/port/dispatcher.h"
#include "zklock/engine/session/engine_context.h"

namespace zklock::detail {

/// Makes `dispatcher` run a task that must not get lost, because a caller waits for it. Does not
/// block. The dispatcher handles an exception of the task. After the client was closed, its
/// dispatchers accept no task: then the calling thread runs it, and an exception is logged. In a
/// fork()ed child the task does not run.
///
/// Thread-safety: any thread may call it. REQUIRES: `core` owns the dispatcher; the calling thread
/// holds no mutex.
void post_or_run(std::shared_ptr<EngineContext> core, client::Dispatcher& dispatcher,
                 std::function<void()> task);
/// Returns whether the calling thread runs a task within post_or_run().
bool runs_in_post_or_run() noexcept;

}  // namespace zklock::detail
