// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <future>

namespace zklock::testing {

/// Returns whether no thread holds the mutex. Tries to lock it on another thread: a thread must not
/// try to lock a std::mutex that it holds.
template <class Lockable>
bool is_free(Lockable& mutex) {
  return std::async(std::launch::async,
                    [&mutex] {
                      if (!mutex.try_lock()) return false;
                      mutex.unlock();
                      return true;
                    })
      .get();
}

}  // namespace zklock::testing
