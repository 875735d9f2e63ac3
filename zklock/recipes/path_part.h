// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <functional>
#include <memory>
#include <string>

#include "zklock/core/lock_path.h"
#include "zklock/recipes/composite_part.h"
#include "zklock/recipes/lock_events.h"

namespace zklock::recipes {

/// A reentrant mutex as a part of a composite. It shares counts and queue with the ReentrantMutexes
/// on its path.
///
/// Thread-safety: all members, from any thread.
class PathPart final : public CompositePart {
 public:
  PathPart(ClientCore& core, const core::LockPath& path, std::chrono::milliseconds lock_delay,
           LockAudience audience);
  ~PathPart() override;
  PathPart(const PathPart&) = delete;
  PathPart& operator=(const PathPart&) = delete;

  std::function<void()> ask(Request request) override;
  bool unlock(const Owner& owner) override;
  int count(const Owner& owner) override;
  bool in_touch(const Owner& owner) override;
  void unlock_at_thread_exit() override;
  ClientCore& core() noexcept override;
  const std::string& path() const noexcept override;

 private:
  const std::shared_ptr<LockEngine> engine_;
  const std::chrono::milliseconds lock_delay_;
  const LockAudience audience_;
};

}  // namespace zklock::recipes
