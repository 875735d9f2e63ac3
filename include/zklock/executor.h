// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "zklock/version.h"

#include <functional>

namespace zklock {

/// Runs a task soon, on any thread, but never inside the call itself. zklock calls the Executor on
/// threads of its own, with no mutex held. Several of these threads can call it at the same time.
/// One thread passes all handlers and coroutine resumptions to it, in the order in which the
/// asynchronous calls ended. Each LockOptions::listener has a thread of its own, which passes the
/// calls of that listener to the Executor.
///
/// Without an Executor, up to eight threads of the client run all its handlers, coroutines and
/// listeners, except LockOptions::listener. If eight of them block, the others wait. The lock of a
/// grant whose handler waits stays held. So a handler must not wait for another handler of its client.
/// If a callback has waited for 5 s, a warning is logged, and again whenever that wait has doubled.
/// ClientMetrics::queued_callbacks has the count; with an Executor, of those not yet passed to it.
using Executor = std::function<void(std::function<void()>)>;

}  // namespace zklock
