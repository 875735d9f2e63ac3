// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <memory>
#include <string>

#include "zklock/core/lock_path.h"
#include "zklock/engine/callback/lock_listener.h"
#include "zklock/recipes/composite/part_lock.h"

namespace zklock::detail {

class ClientCore;

/// A reentrant mutex as a part of a composite. It shares counts and queue with the ReentrantMutexes
/// on its path.
///
/// Thread-safety: all members, from any thread.
class PathPartLock final : public PartLock {
 public:
  PathPartLock(ClientCore& core, const core::LockPath& path, std::chrono::milliseconds lock_delay,
               LockEventSink event_sink);
  ~PathPartLock() override;
  PathPartLock(const PathPartLock&) = delete;
  PathPartLock& operator=(const PathPartLock&) = delete;

  std::shared_ptr<PendingAcquire> acquire(Request request) override;
  bool unlock(const Owner& owner) override;
  int count(const Owner& owner) override;
  bool has_contact(const Owner& owner) override;
  void unlock_at_thread_exit() override;
  EngineContext& core() noexcept override;
  const std::string& path() const noexcept override;

 private:
  const std::shared_ptr<PathLock> path_lock_;
  const std::chrono::milliseconds lock_delay_;
  const LockEventSink event_sink_;
};

}  // namespace zklock::detail
