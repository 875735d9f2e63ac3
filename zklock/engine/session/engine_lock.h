// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "zklock/engine/session/engine_context.h"
#include "zklock/engine/session/engine_mutex.h"

namespace zklock::detail {

/// Holds the engine mutex of a client while it exists. Calls, replies, watch events, session events
/// and timers enter the client's paths only by it.
///
/// If asserts are on, it asserts the invariants of the path that is entered when it begins and when
/// it ends. So transitions are checked at entry and exit.
///
/// If an exception destroys it, memory has run out, and the state may be half changed. Then the
/// process terminates. So no code under the mutex handles a failed allocation.
///
/// Thread-safety: none. A thread has one at most.
class EngineLock {
 public:
  /// State with invariants that is guarded by the mutex.
  class State {
   public:
    virtual void assert_invariants() const noexcept = 0;

   protected:
    ~State() = default;
  };
  /// The client that is entered, and the path, if it is one. REQUIRES: both exist while the
  /// EngineLock does.
  struct Entry {
    EngineContext& core;
    const State* state = nullptr;
  };

  explicit EngineLock(Entry entry);
  /// Runs the deferred tasks.
  ~EngineLock();
  EngineLock(const EngineLock&) = delete;
  EngineLock& operator=(const EngineLock&) = delete;

 private:
  const Entry entry_;
  const int exceptions_;  ///< std::uncaught_exceptions() at the beginning
};

}  // namespace zklock::detail
