// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <condition_variable>
#include <mutex>

#include "conformance/lock_test.h"

namespace zklock::testing {

// A gate at which threads block until the test opens it.
class Gate {
 public:
  // Opens the gate at the end of the test, even of a failed one. Declare it after the objects whose
  // destructors wait for the blocked threads.
  class Opener {
   public:
    explicit Opener(Gate& gate) : gate_(gate) {}
    ~Opener() { gate_.open(); }
    Opener(const Opener&) = delete;
    Opener& operator=(const Opener&) = delete;

   private:
    Gate& gate_;
  };

  void open() {
    const std::lock_guard guard(mutex_);
    open_ = true;
    changed_.notify_all();
  }
  void pass() {
    std::unique_lock lock(mutex_);
    ++arrived_;
    changed_.wait(lock, [this] { return open_; });
  }
  bool reached_by(int count) {
    return eventually(
        [&] {
          const std::lock_guard guard(mutex_);
          return arrived_ >= count;
        },
        kTestTimeout);
  }

 private:
  std::mutex mutex_;
  std::condition_variable changed_;
  bool open_ = false;
  int arrived_ = 0;
};

}  // namespace zklock::testing
