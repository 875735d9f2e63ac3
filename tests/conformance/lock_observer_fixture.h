// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <condition_variable>
#include <memory>
#include <mutex>
#include <vector>

#include <gtest/gtest.h>

#include "conformance/lock_test.h"

namespace zklock::testing {

// Records the states that its listener receives.
class LockStateLog {
 public:
  LockObserver::Listener listener() {
    return [this](const LockState& state) {
      const std::lock_guard guard(mutex_);
      states_.push_back(state);
      changed_.notify_all();
    };
  }
  template <class Predicate>
  [[nodiscard]] bool wait_until_last(Predicate predicate) {
    std::unique_lock lock(mutex_);
    return changed_.wait_for(lock, kTestTimeout,
                             [&] { return !states_.empty() && predicate(states_.back()); });
  }
  [[nodiscard]] bool last_becomes_free() {
    return wait_until_last([](const LockState& s) { return s.is_free() && s.waiting == 0; });
  }
  // Waits until the last state has one holder, the one with the token of `hold`.
  [[nodiscard]] bool last_becomes(const Hold& hold, std::size_t waiting = 0) {
    return wait_until_last([&](const LockState& s) {
      return s.holders.size() == 1 && s.holders.front().token == hold.token() &&
             s.waiting == waiting;
    });
  }
  std::vector<LockState> states() const {
    const std::lock_guard guard(mutex_);
    return states_;
  }
  std::size_t count() const { return states().size(); }

 private:
  mutable std::mutex mutex_;
  std::condition_variable changed_;
  std::vector<LockState> states_;  // guarded by mutex_
};

class LockObserverTest : public LockTest {
 protected:
  Hold acquire() { return mutex_.acquire({.owner = Owner::unique(), .deadline = kTestTimeout}); }

  std::unique_ptr<Client> client_ = connect();
  std::unique_ptr<Client> observers_client_ = connect();
  ReentrantMutex mutex_{*client_, kPath};
};

}  // namespace zklock::testing
