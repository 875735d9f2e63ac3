// SPDX-License-Identifier: Apache-2.0
#include "zklock/engine/callback/interruptible_condition.h"

#include <cassert>

#include <boost/date_time/posix_time/posix_time_types.hpp>
#include <boost/thread/condition_variable.hpp>
#include <boost/thread/thread.hpp>

namespace zklock::detail {

InterruptibleCondition::~InterruptibleCondition() {
  delete interruptible_.load();
}

void InterruptibleCondition::notify_one() noexcept {
  if (auto* const made = interruptible_.load()) made->notify_one();
  condition_.notify_one();
}

void InterruptibleCondition::notify_all() noexcept {
  if (auto* const made = interruptible_.load()) made->notify_all();
  condition_.notify_all();
}

void InterruptibleCondition::wait(client::Mutex& mutex) {
  if (boost::this_thread::interruption_enabled()) {
    interruptible().wait(mutex);
  } else {
    condition_.wait(mutex);
  }
}

void InterruptibleCondition::wait_for(client::Mutex& mutex, std::chrono::microseconds longest) {
  if (boost::this_thread::interruption_enabled()) {
    interruptible().timed_wait(mutex, boost::posix_time::microseconds(longest.count()));
  } else {
    condition_.wait_for(mutex, longest);
  }
}

boost::condition_variable_any& InterruptibleCondition::interruptible() {
  assert(client::may_block_here());
  if (interruptible_.load() == nullptr) interruptible_ = new boost::condition_variable_any;
  return *interruptible_.load();
}

}  // namespace zklock::detail
