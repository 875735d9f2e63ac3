// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <exception>
#include <future>

#include <boost/thread/thread.hpp>

#include "conformance/lock_test.h"

namespace zklock::testing {

// Runs `call` in a boost::thread that is interrupted at once. Returns whether the interruption
// ended it. Throws what else `call` throws.
template <class Call>
bool ends_by_interruption(Call call) {
  std::promise<bool> interrupted;
  auto result = interrupted.get_future();
  boost::thread thread([&] {
    try {
      call();
      interrupted.set_value(false);
    } catch (const boost::thread_interrupted&) {
      interrupted.set_value(true);
    } catch (...) {
      interrupted.set_exception(std::current_exception());
    }
  });
  thread.interrupt();
  const bool ended = get(result);
  thread.join();
  return ended;
}

}  // namespace zklock::testing
