// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <stdexcept>
#include <system_error>
#include <thread>

#include <pthread.h>

namespace zklock::testing {

// During its lifetime this process cannot create a thread: the default stack size is too large. So
// the C client cannot either.
class NoThreads {
 public:
  NoThreads() {
    ::pthread_getattr_default_np(&before_);
    pthread_attr_t none;
    ::pthread_getattr_default_np(&none);
    ::pthread_attr_setstacksize(&none, std::size_t{1} << 47);
    ::pthread_setattr_default_np(&none);
    ::pthread_attr_destroy(&none);
    if (can_start()) throw std::logic_error("there are threads nevertheless");
  }
  ~NoThreads() {
    ::pthread_setattr_default_np(&before_);
    ::pthread_attr_destroy(&before_);
  }
  NoThreads(const NoThreads&) = delete;
  NoThreads& operator=(const NoThreads&) = delete;

 private:
  static bool can_start() {
    try {
      std::thread([] {}).join();
      return true;
    } catch (const std::system_error&) {
      return false;
    }
  }

  pthread_attr_t before_;
};

}  // namespace zklock::testing
