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
using Executor = std::function<void(std::function<void()>)>;

}  // namespace zklock
