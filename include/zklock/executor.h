// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "zklock/version.h"

#include <functional>

namespace zklock {

/// Runs a task soon, on any thread, but never inside the call itself. zklock calls the Executor on
/// threads of its own, with no mutex held. One thread passes all handlers and coroutine resumptions
/// to it, in the order in which the asynchronous calls ended. Each LockOptions::listener has
/// another thread, which passes the calls of that listener. These threads can call the Executor at
/// the same time.
///
/// Without an Executor, up to eight threads of the client run its handlers, its coroutines and the
/// listeners of the client. If callbacks block all eight, further callbacks wait. A lock can be
/// granted, and stays held, while its handler waits to start. So a handler must not wait for
/// another handler of its client. If a callback has waited for 5 s, a warning is logged, and again
/// whenever that wait has doubled. ClientMetrics::queued_callbacks counts the waiting callbacks.
/// With an Executor, it counts those that were not yet passed to it.
using Executor = std::function<void(std::function<void()>)>;

}  // namespace zklock
