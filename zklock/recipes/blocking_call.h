// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <optional>
#include <utility>

#include <boost/date_time/posix_time/posix_time_types.hpp>
#include <boost/thread/condition_variable.hpp>
#include <boost/thread/mutex.hpp>
#include <boost/thread/thread.hpp>

namespace zklock::recipes {

/// The place where a thread waits for the result of what other threads do. It has no timeout:
/// whoever is to deliver the result keeps the deadline.
///
/// Thread-safety: set() from any thread; wait() from one.
template <class Result>
class BlockingCall {
 public:
  void set(Result result) {
    const boost::lock_guard<boost::mutex> guard(mutex_);
    result_.emplace(std::move(result));
    // Under the mutex: the waiting thread destroys this object as soon as it can.
    ready_.notify_one();
  }

  /// An interruption point of Boost.Thread: throws boost::thread_interrupted.
  Result wait() {
    boost::unique_lock<boost::mutex> lock(mutex_);
    while (!result_) ready_.wait(lock);
    return std::move(*result_);
  }

  /// The same, for about `longest` at most: nothing when there is no result until then. For what
  /// must end although nobody may be left to deliver it.
  std::optional<Result> wait_for(std::chrono::milliseconds longest) {
    boost::unique_lock<boost::mutex> lock(mutex_);
    if (!result_) ready_.timed_wait(lock, boost::posix_time::milliseconds(longest.count()));
    return std::move(result_);
  }

  Result wait_without_interruption() {
    const boost::this_thread::disable_interruption disabled;
    return wait();
  }

 private:
  boost::mutex mutex_;
  // guarded by mutex_
  boost::condition_variable ready_;
  std::optional<Result> result_;
};

}  // namespace zklock::recipes
