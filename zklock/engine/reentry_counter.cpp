// SPDX-License-Identifier: Apache-2.0
#include "zklock/engine/reentry_counter.h"

#include <cassert>
#include <limits>
#include <utility>

namespace zklock::detail {

namespace {

/// The number of a thread that has not called this_thread() yet. No thread_ is equal to it.
constexpr std::uint64_t kNoNumber = std::numeric_limits<std::uint64_t>::max();

constinit std::atomic<std::uint64_t> threads{0};
constinit thread_local std::uint64_t number_of_this = kNoNumber;

}  // namespace

std::uint64_t ReentryCounter::this_thread() noexcept {
  if (number_of_this == kNoNumber) {
    number_of_this = threads.fetch_add(1, std::memory_order_relaxed) + 1;
  }
  return number_of_this;
}

// A thread's own number is written while the thread is in lock(). The thread itself clears it, or
// clear() does when no object is left for a lock() or unlock(). So relaxed order is enough.
bool ReentryCounter::is_here() const noexcept {
  return thread_.load(std::memory_order_relaxed) == number_of_this;
}

void ReentryCounter::begin(std::uint64_t thread,
                           std::shared_ptr<const HoldRecord> record) noexcept {
  std::uint64_t user = 0;
  const bool is_new = thread_.compare_exchange_strong(user, thread, std::memory_order_acquire);
  assert(thread != 0 && record && (!is_new || (!record_ && count_ == 0)));
  if (!is_new && (user != thread || record_ == record)) return;
  record_ = std::move(record);
  count_ = 0;
}

bool ReentryCounter::enter() noexcept {
  if (!is_here() || !record_->check_held()) return false;
  ++count_;
  return true;
}

bool ReentryCounter::leave() noexcept {
  if (!is_here() || count_ == 0) return false;
  --count_;
  return true;
}

void ReentryCounter::end() noexcept {
  if (is_here()) clear();
}

void ReentryCounter::clear() noexcept {
  record_.reset();
  count_ = 0;
  thread_.store(0, std::memory_order_release);
}

}  // namespace zklock::detail
